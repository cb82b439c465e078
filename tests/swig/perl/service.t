#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Services from Perl, as a user of the wrappers meets them: functions of C, controlled from
# here. What every call does is the conformance script's business.

use strict;
use warnings;

use FindBin ();
use Libfp;
use Scripted;
use lib $FindBin::Bin;
use Suite qw(fails);
use Test::More;

my $function;

sub new_service {
    my ($name) = @_;
    $function = Scripted::scripted_new();
    my $opts = Libfp::fp_service_opts->new;
    $opts->{name}     = $name;
    $opts->{run}      = Scripted::scripted_run();
    $opts->{released} = Scripted::scripted_released();
    $opts->{user}     = Scripted::scripted_user($function);
    return Libfp::fp_service_create($opts);
}

sub new_core { return Libfp::fp_service_core_create(Libfp::fp_service_core_opts->new) }

subtest 'a core on this thread' => sub {
    my ($service, $core) = (new_service(), new_core());
    Libfp::fp_service_map($service, $core);
    Libfp::fp_service_start($service);
    fails(ETIMEDOUT => sub { Libfp::fp_service_core_run($core, 0) });
    is(Scripted::scripted_calls($function),       1);
    is(Libfp::fp_service_run_once($service),      0);
    is(Libfp::fp_service_core_destroy($core),     0);
    is(Libfp::fp_service_destroy($service, 0, 0), 0);
    is(Scripted::scripted_releases($function),    1);
};

subtest 'what the function returns is no error of the call' => sub {
    my $service = new_service();
    Scripted::scripted_returns($function, -5);
    fails(ESHUTDOWN => sub { Libfp::fp_service_run_once($service) });
    Libfp::fp_service_start($service);
    is(Libfp::fp_service_run_once($service),      -5);
    is(Libfp::fp_service_destroy($service, 0, 0), 0);
};

subtest 'a wake-up lives as long as its service' => sub {
    my $service = new_service();
    my $wakeup  = Libfp::fp_service_wakeup($service);
    is(Libfp::fp_wakeup_signal($wakeup), 0);
    fails(EOPNOTSUPP => sub { Libfp::fp_wakeup_destroy($wakeup) });
    undef $wakeup;
    is(Libfp::fp_wakeup_signal(Libfp::fp_service_wakeup($service)), 0, 'another object of it');
    $wakeup = Libfp::fp_service_wakeup($service);
    Libfp::fp_service_destroy($service, 0, 0);
    fails(EINVAL => sub { Libfp::fp_wakeup_signal($wakeup) });
    undef $service;
    fails(EINVAL => sub { Libfp::fp_wakeup_signal($wakeup) });
    fails(EINVAL => sub { Libfp::fp_service_wakeup(undef) });
};

subtest 'CPUs are packed' => sub {
    my $core = new_core();
    is(Libfp::fp_service_core_set_cpus($core, pack 'L*', 0, 1), 0);
    is(Libfp::fp_service_core_set_cpus($core, ''),              0);
    fails(EINVAL => sub { Libfp::fp_service_core_set_cpus($core, pack 'L', 1024) });
    fails(EINVAL => sub { Libfp::fp_service_core_set_cpus($core, 'abc') });
    Libfp::fp_service_core_destroy($core);
};

subtest 'one that was dropped' => sub {
    my $service = new_service('perl service');
    my $found   = Libfp::fp_service_lookup('perl service');
    undef $found;
    undef $service;
    fails(ENOENT => sub { Libfp::fp_service_lookup('perl service') });
    is(Scripted::scripted_releases($function), 1);
};

subtest 'one that is gone is refused' => sub {
    my ($service, $core) = (new_service(), new_core());
    Libfp::fp_service_destroy($service, 0, 0);
    fails(EINVAL => sub { Libfp::fp_service_map($service, $core) });
    fails(EINVAL => sub { Libfp::fp_service_run_once($service) });
    fails(EINVAL => sub { Libfp::fp_service_create(Libfp::fp_service_opts->new) },
        'without a function');
    Libfp::fp_service_core_destroy($core);
    fails(EINVAL => sub { Libfp::fp_service_core_run($core, 0) });
};

done_testing();
