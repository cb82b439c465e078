#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Perl's driver of the rings' conformance script.
#
#     ring_conformance.pl [--planted] ring.json

use strict;
use warnings;

use FindBin ();
use Libfp;
use lib $FindBin::Bin;
use Conformance qw(compare element fp keep run_script timeout);

my %keys = map { $_ => '' } qw(destroy unref close reset count free_count capacity
    elem_size is_full is_empty is_closed producer_sync consumer_sync name);
%keys = (
    %keys,
    create          => 'capacity elem_size name stats checked wait producer consumer',
    lookup          => 'name',
    enqueue         => 'elem',
    enqueue_u64     => 'elem',
    enqueue_burst   => 'elems after',
    enqueue_bulk    => 'elems after',
    dequeue         => 'out',
    dequeue_u64     => 'out',
    dequeue_burst   => 'n out after',
    dequeue_bulk    => 'n out after',
    peek            => 'n out',
    wait_readable   => 'timeout',
    wait_writable   => 'timeout',
    dequeue_wait    => 'n timeout out',
    enqueue_wait    => 'elems timeout',
    interrupt       => 'side',
    set_wakeup      => 'side wakeup',
    (map { ("wakeup_$_" => 'wakeup') } qw(create arm clear destroy)),
    reserve_enqueue => 'span n bulk pieces',
    commit_enqueue  => 'span k elems',
    reserve_dequeue => 'span n bulk pieces out',
    commit_dequeue  => 'span k',
    stats           => 'fields',
);

# ---- values of the script ----

sub elements {
    my ($list, $size) = @_;
    $list = [$list->{first} .. $list->{first} + $list->{n} - 1] if ref $list eq 'HASH';
    return join '', map { element($_, $size) } @$list;
}

# ---- calls: each gets the run, the step and the ring ----

sub side { return $_[0] eq 'st' ? $Libfp::LIBFP_ST : $Libfp::LIBFP_MT }

sub create {
    my ($run, $step) = @_;
    my $opts = Libfp::fp_ring_opts->new;
    $opts->{capacity}  = $step->{capacity} // 0;
    $opts->{elem_size} = $step->{elem_size} // 8;
    $opts->{name}      = $step->{name};
    $opts->{producer}  = side($step->{producer} // $run->{sides}[0]);
    $opts->{consumer}  = side($step->{consumer} // $run->{sides}[1]);
    $opts->{flags}     = ($step->{stats} ? $Libfp::LIBFP_STATS : 0)
        | ($step->{checked} ? $Libfp::LIBFP_CHECKED   : 0)
        | ($step->{wait}    ? $Libfp::LIBFP_RING_WAIT : 0);
    return keep($run, fp('create', $opts));
}

sub span_of {
    my ($run, $step) = @_;
    return $run->{spans}{ $step->{span} // 's' } //= Libfp::fp_ring_span->new;
}

sub enqueues {
    my ($run, $step, $ring) = @_;
    return fp($step->{do}, $ring, unpack 'Q', element($step->{elem}, 8))
        if $step->{do} eq 'enqueue_u64';
    return fp($step->{do}, $ring, element($step->{elem}, $run->{size}))
        if $step->{do} eq 'enqueue';
    return fp($step->{do}, $ring, elements($step->{elems}, $run->{size}));
}

sub dequeues {
    my ($run, $step, $ring) = @_;
    my ($got, $out) = fp($step->{do}, $ring, exists $step->{n} ? $step->{n} : ());
    $out = $got ? pack 'Q', $out : '' if $step->{do} eq 'dequeue_u64';
    $run->{out} = $out;
    return $got;
}

sub reserve {
    my ($run, $step, $ring) = @_;
    my $span = span_of($run, $step);
    my $got  = fp($step->{do}, $ring, $step->{n},
        $step->{bulk} ? $Libfp::LIBFP_RING_BULK : 0, $span);
    (undef, $run->{out}) = $span->read(0, $got) if $step->{do} eq 'reserve_dequeue';
    return $got;
}

sub commit {
    my ($run, $step, $ring) = @_;
    my $span = span_of($run, $step);
    my $room = ($span->{n1} + $span->{n2}) * $run->{size};
    $span->write(0, substr elements($step->{elems}, $run->{size}), 0, $room)
        if $step->{do} eq 'commit_enqueue' && $room;
    return fp($step->{do}, $ring, $span, $step->{k});
}

sub waits {
    my ($run, $step, $ring) = @_;
    return fp($step->{do}, $ring, timeout($step)) if $step->{do} =~ /^wait/;
    if ($step->{do} eq 'enqueue_wait') {
        return 0 if !fp('wait_writable', $ring, timeout($step));
        return fp('enqueue_burst', $ring, elements($step->{elems}, $run->{size}));
    }
    return 0 if !fp('wait_readable', $ring, timeout($step));
    (my $got, $run->{out}) = fp('dequeue_burst', $ring, $step->{n});
    return $got;
}

# The number of a side; a number may be none.
sub side_of {
    my ($step) = @_;
    my %sides = (
        producer => $Libfp::LIBFP_RING_PRODUCER,
        consumer => $Libfp::LIBFP_RING_CONSUMER,
    );
    return $sides{ $step->{side} } // $step->{side};
}

sub interrupt {
    my ($run, $step, $ring) = @_;
    return fp('interrupt', $ring, side_of($step));
}

sub set_wakeup {
    my ($run, $step, $ring) = @_;
    my $wakeup = $step->{wakeup} && $run->{wakeups}{ $step->{wakeup} };
    return fp('set_wakeup', $ring, side_of($step), $wakeup);
}

sub wakeup {
    my ($run, $step) = @_;
    my $name = $step->{wakeup} // 'w';
    if ($step->{do} eq 'wakeup_create') {
        $run->{wakeups}{$name} = Libfp::fp_wakeup_create(Libfp::fp_wakeup_opts->new);
        return 0;
    }
    my $wakeup = $run->{wakeups}{$name} or die "the script: no wake-up $name\n";
    return Libfp::fp_wakeup_destroy($wakeup) if $step->{do} eq 'wakeup_destroy';
    return Libfp::fp_wakeup_clear($wakeup)   if $step->{do} eq 'wakeup_clear';
    Libfp::fp_wakeup_fd($wakeup);
    return Libfp::fp_wakeup_arm($wakeup);
}

my %calls = (
    create     => \&create,
    interrupt  => \&interrupt,
    set_wakeup => \&set_wakeup,
    (map { $_ => \&waits } qw(wait_readable wait_writable dequeue_wait enqueue_wait)),
    (map { ("wakeup_$_" => \&wakeup) } qw(create arm clear destroy)),
    (map { $_ => \&enqueues } qw(enqueue enqueue_u64 enqueue_burst enqueue_bulk)),
    (map { $_ => \&dequeues } qw(dequeue dequeue_u64 dequeue_burst dequeue_bulk peek)),
    (map { ("reserve_$_" => \&reserve, "commit_$_" => \&commit) } qw(enqueue dequeue)),
);

# ---- steps ----

sub prepare {
    my ($run, $ring) = @_;
    $run->{size} = $ring ? fp('elem_size', $ring) : 8;
    $run->{out}  = '';
    return;
}

sub check {
    my ($run, $step, $ring) = @_;
    compare(unpack('H*', elements($step->{out}, $run->{size})), unpack 'H*', $run->{out})
        if $step->{out};
    compare("$step->{after} after",
        fp($step->{do} =~ /^enqueue/ ? 'free_count' : 'count', $ring) . ' after')
        if exists $step->{after};
    if ($step->{pieces}) {
        my $span = span_of($run, $step);
        compare("@{ $step->{pieces} }", "$span->{n1} $span->{n2}");
    }
    return;
}

exit run_script(
    {   name      => 'ring',
        key       => 'ring',
        otherwise => 'r',
        keys      => \%keys,
        calls     => \%calls,
        without   => qr/^wakeup_/,
        prepare   => \&prepare,
        check     => \&check,
    },
    @ARGV
);
