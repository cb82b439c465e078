#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Perl's driver of the timers' conformance script. The callback is that of scripted.i; a
# record is 32 bytes, packed.
#
#     timer_conformance.pl [--planted] timer.json

use strict;
use warnings;

use FindBin ();
use Libfp;
use Scripted;
use lib $FindBin::Bin;
use Conformance qw(compare fp is_number keep run_script timeout);

my %keys = map { $_ => '' } qw(destroy unref name now tick_ns count cancel_all reset_stats
    interrupt await_fired service service_start);
%keys = (
    %keys,
    (map { $_ => 'timer' } qw(timer_destroy cancel is_pending)),
    (   map { $_ => 'wakeup' }
            qw(set_wakeup wakeup_create wakeup_destroy wakeup_arm wakeup_clear)
    ),
    (map { $_ => 'core' } qw(service_map core_create core_run core_destroy)),
    create             => 'name start tick_ns capacity max_timers wait stats',
    lookup             => 'name',
    ticks_from_ns      => 'ns',
    poll               => 'now max called',
    poll_burst         => 'now n out called',
    next_expiry        => 'not_after',
    stats              => 'fields',
    wait               => 'timeout',
    timer_create       => 'timer user callback',
    arm                => 'timer expiry',
    arm_periodic       => 'timer first period policy',
    touch              => 'timer expiry',
    cancel_sync        => 'timer timeout',
    remaining          => 'timer now ticks',
    timer_create_bulk  => 'timers users callback',
    timer_destroy_bulk => 'timers results',
    cancel_bulk        => 'timers results',
    arm_bulk           => 'timers expiries results',
    touch_bulk         => 'timers expiries results',
);

# ---- values of the script ----

sub id {
    my ($run, $name) = @_;
    return 0 if !defined $name;
    return $run->{timers}{$name} // die "the script: no timer $name\n";
}

sub timer {
    my ($run, $step) = @_;
    return id($run, exists $step->{timer} ? $step->{timer} : 't');
}

# Ticks: a number, hexadecimal, or the clock's and more.
sub ticks {
    my ($value, $wheel) = @_;
    return $value if is_number($value);
    no warnings 'portable';
    return hex $value if $value =~ /^0x/;
    my ($more) = $value =~ /^now(?:\+(\d+))?$/ or die "the script: $value is no tick\n";
    return fp('now', $wheel) + ($more // 0);
}

sub ids {
    my ($run, $step) = @_;
    return pack 'Q*', map { id($run, $_) } @{ $step->{timers} };
}

sub expiries {
    my ($step, $wheel) = @_;
    return pack 'Q*', map { ticks($_, $wheel) } @{ $step->{expiries} };
}

sub callback {
    my ($step) = @_;
    return $step->{callback} ? Scripted::scripted_timer() : 0;
}

# ---- records ----

sub compare_record {
    my ($run, $wheel, $wanted, $record) = @_;
    $wanted = { timer => $wanted } if !ref $wanted;
    my ($id, $user, $expiry, $overruns, $flags) = unpack 'QQQLL', $record;
    my %got = (user => $user, expiry => $expiry, overruns => $overruns);
    compare('timer ' . id($run, $wanted->{timer}), "timer $id");
    for (sort grep { exists $wanted->{$_} } keys %got) {
        compare("$_ " . ticks($wanted->{$_}, $wheel), "$_ $got{$_}");
    }
    compare($wanted->{periodic} ? 1 : 0, $flags == $Libfp::LIBFP_TIMER_IS_PERIODIC ? 1 : 0)
        if exists $wanted->{periodic};
    return;
}

sub compare_records {
    my ($run, $step, $wheel, $key, $bytes) = @_;
    my @list = @{ $step->{$key} // return };
    my @records = unpack '(a32)*', $bytes;
    compare("$key " . @list, "$key " . @records);
    compare_record($run, $wheel, $list[$_], $records[$_]) for 0 .. $#list;
    return;
}

sub compare_called {
    my ($run, $step, $wheel) = @_;
    my $n = Scripted::scripted_fired();
    my @words = map { my $at = $_; map { Scripted::scripted_record($at, $_) } 0 .. 3 } 0 .. $n - 1;
    compare_records($run, $step, $wheel, 'called', pack 'q*', @words);
    return;
}

# ---- wheels: each call gets the run, the step and the wheel ----

sub create {
    my ($run, $step) = @_;
    my $start = $step->{start} // 0;
    my $opts  = Libfp::fp_timer_wheel_opts->new;
    $opts->{name}       = $step->{name};
    $opts->{tick_ns}    = ticks($step->{tick_ns} // 0);
    $opts->{capacity}   = $step->{capacity}   // 0;
    $opts->{max_timers} = $step->{max_timers} // 0;
    $opts->{start_tick} = $start if $start ne 'now';
    $opts->{flags}      = ($start ne 'now' ? $Libfp::LIBFP_WHEEL_START_AT : 0)
        | ($step->{wait}  ? $Libfp::LIBFP_WHEEL_WAIT : 0)
        | ($step->{stats} ? $Libfp::LIBFP_STATS      : 0);
    return keep($run, fp('create', $opts));
}

sub ticks_from_ns {
    my ($run, $step, $wheel) = @_;
    return fp('ticks_from_ns', $wheel, ticks($step->{ns}));
}

sub poll {
    my ($run, $step, $wheel) = @_;
    my $got = fp('poll', $wheel, ticks($step->{now}, $wheel),
        $step->{max} // $Libfp::LIBFP_WHEEL_NO_LIMIT);
    compare_called($run, $step, $wheel);
    return $got;
}

sub poll_burst {
    my ($run, $step, $wheel) = @_;
    my ($got, $bytes) = fp('poll_burst', $wheel, ticks($step->{now}, $wheel), $step->{n} // 16);
    compare_records($run, $step, $wheel, 'out', $bytes);
    compare_called($run, $step, $wheel);
    return $got;
}

sub await_fired {
    my ($run, $step, $wheel) = @_;
    my $got = 0;
    while (!$got) {
        fp('wait', $wheel, $Libfp::LIBFP_FOREVER);
        $got = fp('poll', $wheel, fp('now', $wheel), $Libfp::LIBFP_WHEEL_NO_LIMIT);
    }
    return $got;
}

sub next_expiry {
    my ($run, $step, $wheel) = @_;
    my ($got, $tick) = fp('next_expiry', $wheel);
    compare(1, $tick <= ticks($step->{not_after}, $wheel) ? 1 : 0) if $step->{not_after};
    return $got;
}

sub waits {
    my ($run, $step, $wheel) = @_;
    return fp('wait', $wheel, timeout($step));
}

# ---- wake-ups, services and cores that it meets ----

sub set_wakeup {
    my ($run, $step, $wheel) = @_;
    return fp('set_wakeup', $wheel, $step->{wakeup} && $run->{wakeups}{ $step->{wakeup} });
}

sub wakeup {
    my ($run, $step) = @_;
    my $entry = \$run->{wakeups}{ $step->{wakeup} // 'w' };
    if ($step->{do} eq 'wakeup_create') {
        $$entry = Libfp::fp_wakeup_create(Libfp::fp_wakeup_opts->new);
        return 0;
    }
    return Libfp::fp_wakeup_clear($$entry) if $step->{do} eq 'wakeup_clear';
    if ($step->{do} eq 'wakeup_arm') {
        Libfp::fp_wakeup_fd($$entry);
        return Libfp::fp_wakeup_arm($$entry);
    }
    my $got = Libfp::fp_wakeup_destroy($$entry);
    delete $run->{wakeups}{ $step->{wakeup} // 'w' };
    return $got;
}

sub service {
    my ($run, $step, $wheel) = @_;
    my $entry = \$run->{services}{ $run->{name} };
    return Libfp::fp_service_start($$entry) if $step->{do} eq 'service_start';
    return Libfp::fp_service_map($$entry, $run->{cores}{ $step->{core} // 'c' })
        if $step->{do} eq 'service_map';
    $$entry = fp('service', $wheel);
    return 0;
}

sub core {
    my ($run, $step) = @_;
    my $name = $step->{core} // 'c';
    return Libfp::fp_service_core_run($run->{cores}{$name}, 0) if $step->{do} eq 'core_run';
    if ($step->{do} eq 'core_create') {
        $run->{cores}{$name} = Libfp::fp_service_core_create(Libfp::fp_service_core_opts->new);
        return 0;
    }
    my $got = Libfp::fp_service_core_destroy($run->{cores}{$name});
    delete $run->{cores}{$name};
    return $got;
}

# ---- timers ----

sub timer_create {
    my ($run, $step, $wheel) = @_;
    $run->{timers}{ $step->{timer} // 't' }
        = Libfp::fp_timer_create($wheel, callback($step), $step->{user} // 0);
    return 0;
}

sub timer_create_bulk {
    my ($run, $step, $wheel) = @_;
    my @names = @{ $step->{timers} };
    my ($got, $bytes) = Libfp::fp_timer_create_bulk($wheel, callback($step),
        pack('Q*', @{ $step->{users} // [] }), scalar @names);
    my @ids = unpack 'Q*', $bytes;
    $run->{timers}{ $names[$_] } = $ids[$_] for 0 .. $#ids;
    return $got;
}

sub plain_timer {
    my ($run, $step, $wheel) = @_;
    my $id = timer($run, $step);
    return Libfp::fp_timer_destroy($wheel, $id) if $step->{do} eq 'timer_destroy';
    return Libfp::fp_timer_cancel($wheel, $id)  if $step->{do} eq 'cancel';
    return Libfp::fp_timer_cancel_sync($wheel, $id, timeout($step))
        if $step->{do} eq 'cancel_sync';
    return Libfp::fp_timer_is_pending($wheel, $id);
}

sub arms {
    my ($run, $step, $wheel) = @_;
    my ($id, $expiry) = (timer($run, $step), ticks($step->{expiry}, $wheel));
    return Libfp::fp_timer_arm($wheel, $id, $expiry) if $step->{do} eq 'arm';
    return Libfp::fp_timer_touch($wheel, $id, $expiry);
}

sub arm_periodic {
    my ($run, $step, $wheel) = @_;
    my %policies = (
        skip     => $Libfp::LIBFP_TIMER_SKIP,
        coalesce => $Libfp::LIBFP_TIMER_COALESCE,
        catch_up => $Libfp::LIBFP_TIMER_CATCH_UP,
    );
    return Libfp::fp_timer_arm_periodic(
        $wheel, timer($run, $step),
        ticks($step->{first}, $wheel),
        ticks($step->{period}, $wheel),
        $policies{ $step->{policy} } // $step->{policy}
    );
}

sub remaining {
    my ($run, $step, $wheel) = @_;
    my ($got, $left) = Libfp::fp_timer_remaining($wheel, timer($run, $step),
        ticks($step->{now}, $wheel));
    compare(ticks($step->{ticks}), $left) if exists $step->{ticks};
    return $got;
}

sub bulk {
    my ($run, $step, $wheel) = @_;
    my %calls = (
        timer_destroy_bulk => \&Libfp::fp_timer_destroy_bulk,
        cancel_bulk        => \&Libfp::fp_timer_cancel_bulk,
        arm_bulk           => \&Libfp::fp_timer_arm_bulk,
        touch_bulk         => \&Libfp::fp_timer_touch_bulk,
    );
    my ($got, $bytes) = $calls{ $step->{do} }->(
        $wheel, ids($run, $step), $step->{expiries} ? expiries($step, $wheel) : ()
    );
    my @results = unpack 'l*', $bytes;
    compare(scalar @{ $step->{timers} }, scalar @results);
    for (0 .. $#{ $step->{results} // [] }) {
        my $text = $results[$_];
        $text = '-' . (split /:/, Libfp::fp_strerror($text))[0] if $text < 0;
        compare($step->{results}[$_], $text);
    }
    return $got;
}

exit run_script(
    {   name      => 'timer',
        prefix    => 'timer_wheel',
        key       => 'wheel',
        otherwise => 'w',
        keys      => \%keys,
        calls     => {
            create            => \&create,
            ticks_from_ns     => \&ticks_from_ns,
            poll              => \&poll,
            poll_burst        => \&poll_burst,
            await_fired       => \&await_fired,
            next_expiry       => \&next_expiry,
            wait              => \&waits,
            set_wakeup        => \&set_wakeup,
            timer_create      => \&timer_create,
            timer_create_bulk => \&timer_create_bulk,
            arm_periodic      => \&arm_periodic,
            remaining         => \&remaining,
            (map { ("wakeup_$_" => \&wakeup) } qw(create destroy arm clear)),
            (map { $_ => \&service } qw(service service_map service_start)),
            (map { ("core_$_" => \&core) } qw(create run destroy)),
            (map { $_ => \&plain_timer } qw(timer_destroy cancel cancel_sync is_pending)),
            (map { $_ => \&arms } qw(arm touch)),
            (map { $_ => \&bulk } qw(timer_destroy_bulk cancel_bulk arm_bulk touch_bulk)),
        },
        without => qr/^(wakeup|core)_\w+$/,
        prepare => sub { Scripted::scripted_fired() },
        check   => sub { },
        open    => sub { %{ $_[0]{wakeups} // {} } || %{ $_[0]{cores} // {} } },
    },
    @ARGV
);
