#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Perl's driver of the services' conformance script. The functions are those of scripted.i.
#
#     service_conformance.pl [--planted] service.json

use strict;
use warnings;

use FindBin ();
use Libfp;
use Scripted;
use lib $FindBin::Bin;
use Conformance qw(compare compare_fields fp keep run_script timeout);

my %keys = map { $_ => '' }
    qw(unref name calls released start is_runnable is_active reset_stats);
%keys = (
    %keys,
    (   map { $_ => 'core' }
            qw(map is_mapped wakeup_signal wakeup_prepare wakeup_destroy core_destroy
            core_unref core_name core_start core_reset_stats)
    ),
    create       => 'returns name wakeable not_ready cycles',
    destroy      => 'force timeout',
    lookup       => 'name',
    await_calls  => 'n',
    set_ready    => 'ready timeout',
    stop         => 'timeout',
    unmap        => 'core timeout',
    run_once     => 'result',
    set_deadline => 'deadline',
    stats        => 'fields',
    map_stats    => 'core fields',
    core_create  => 'core name idle',
    core_lookup  => 'core name',
    core_stop    => 'core timeout',
    core_run     => 'core timeout',
    core_stats   => 'core fields',
);

# ---- what steps name ----

sub core_of {
    my ($run, $step) = @_;
    my $name = $step->{core} // 'c';
    return $run->{cores}{$name} // die "the script: no core $name\n";
}

sub status {
    my ($value) = @_;
    my %errors = ('-EAGAIN' => -11, '-EIO' => -5, '-EPIPE' => -32);
    return $errors{$value} // $value;
}

# ---- calls: each gets the run, the step and the service ----

sub create {
    my ($run, $step) = @_;
    my $function = $run->{functions}{ $run->{name} } = Scripted::scripted_new();
    Scripted::scripted_returns($function, status($_)) for @{ $step->{returns} // [] };
    my %cycles = (
        sampled => $Libfp::LIBFP_SERVICE_CYCLES_SAMPLED,
        exact   => $Libfp::LIBFP_SERVICE_CYCLES_EXACT,
    );
    my $opts = Libfp::fp_service_opts->new;
    $opts->{name}     = $step->{name};
    $opts->{run}      = Scripted::scripted_run();
    $opts->{released} = Scripted::scripted_released();
    $opts->{user}     = Scripted::scripted_user($function);
    $opts->{cycles}   = $cycles{ $step->{cycles} // '' } // 0;
    $opts->{flags}    = ($run->{sides}[0] eq 'mt' ? $Libfp::LIBFP_SERVICE_MT_SAFE : 0)
        | ($step->{wakeable}  ? $Libfp::LIBFP_SERVICE_WAKEABLE  : 0)
        | ($step->{not_ready} ? $Libfp::LIBFP_SERVICE_NOT_READY : 0);
    return keep($run, fp('create', $opts));
}

sub destroy {
    my ($run, $step, $service) = @_;
    my $got = fp('destroy', $service, $step->{force} ? $Libfp::LIBFP_SERVICE_FORCE : 0,
        timeout($step));
    delete $run->{handles}{ $run->{name} };
    return $got;
}

sub calls {
    my ($run, $step) = @_;
    my $function = $run->{functions}{ $run->{name} };
    return Scripted::scripted_releases($function) if $step->{do} eq 'released';
    return Scripted::scripted_calls($function)    if $step->{do} eq 'calls';
    select undef, undef, undef, 0.0001
        while Scripted::scripted_calls($function) < ($step->{n} // 1);
    return 0;
}

sub gate {
    my ($run, $step, $service) = @_;
    return fp($step->{do}, $service, $step->{ready} // (), timeout($step));
}

sub maps {
    my ($run, $step, $service) = @_;
    return fp($step->{do}, $service, core_of($run, $step),
        $step->{do} eq 'unmap' ? timeout($step) : ());
}

sub run_once {
    my ($run, $step, $service) = @_;
    my $result = fp('run_once', $service);
    compare(status($step->{result}), $result) if exists $step->{result};
    return 0;
}

sub set_deadline {
    my ($run, $step, $service) = @_;
    return fp('set_deadline', $service, $step->{deadline});
}

sub map_stats {
    my ($run, $step, $service) = @_;
    my $stats = Libfp::fp_service_map_stats->new;
    my $got   = fp('get_map_stats', $service, core_of($run, $step), $stats);
    compare_fields($step, $stats);
    return $got;
}

sub wakeup {
    my ($run, $step, $service) = @_;
    my $wakeup = $step->{core} ? fp('core_wakeup', core_of($run, $step)) : fp('wakeup', $service);
    return Libfp::fp_wakeup_signal($wakeup)  if $step->{do} eq 'wakeup_signal';
    return Libfp::fp_wakeup_destroy($wakeup) if $step->{do} eq 'wakeup_destroy';
    return Libfp::fp_wakeup_prepare($wakeup);
}

sub core_create {
    my ($run, $step) = @_;
    my %idle = (
        yield => $Libfp::LIBFP_SERVICE_CORE_YIELD,
        spin  => $Libfp::LIBFP_SERVICE_CORE_SPIN,
    );
    my $opts = Libfp::fp_service_core_opts->new;
    $opts->{name} = $step->{name};
    $opts->{idle} = $idle{ $step->{idle} // '' } // 0;
    $run->{cores}{ $step->{core} // 'c' } = fp('core_create', $opts);
    return 0;
}

sub core_lookup {
    my ($run, $step) = @_;
    $run->{cores}{ $step->{core} // 'c' } = fp('core_lookup', $step->{name});
    return 0;
}

sub core_ends {
    my ($run, $step) = @_;
    my $got = fp($step->{do}, core_of($run, $step));
    delete $run->{cores}{ $step->{core} // 'c' };
    return $got;
}

sub core_runs {
    my ($run, $step) = @_;
    return fp($step->{do}, core_of($run, $step), timeout($step));
}

sub core_plain {
    my ($run, $step) = @_;
    return scalar fp($step->{do}, core_of($run, $step));
}

sub core_stats {
    my ($run, $step) = @_;
    my $stats = Libfp::fp_service_core_stats->new;
    my $got   = fp('core_get_stats', core_of($run, $step), $stats);
    compare_fields($step, $stats);
    return $got;
}

exit run_script(
    {   name      => 'service',
        key       => 'service',
        otherwise => 's',
        keys      => \%keys,
        calls     => {
            create       => \&create,
            destroy      => \&destroy,
            run_once     => \&run_once,
            set_deadline => \&set_deadline,
            map_stats    => \&map_stats,
            core_create  => \&core_create,
            core_lookup  => \&core_lookup,
            core_stats   => \&core_stats,
            (map { $_ => \&calls } qw(calls released await_calls)),
            (map { $_ => \&gate } qw(set_ready stop)),
            (map { $_ => \&maps } qw(map unmap is_mapped)),
            (map { ("wakeup_$_" => \&wakeup) } qw(signal prepare destroy)),
            (map { ("core_$_" => \&core_ends) } qw(destroy unref)),
            (map { ("core_$_" => \&core_runs) } qw(run stop)),
            (map { ("core_$_" => \&core_plain) } qw(name start reset_stats)),
        },
        # Of a service that is gone, or of a core alone.
        without => qr/^(core_\w+|calls|released|await_calls|wakeup_\w+)$/,
        prepare => sub { },
        check   => sub { },
        open    => sub { scalar %{ $_[0]{cores} // {} } },
    },
    @ARGV
);
