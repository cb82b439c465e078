#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Timers from Perl, as a user of the wrappers meets them: packed ids and records, callbacks
# of C. What every call does is the conformance script's business.

use strict;
use warnings;

use FindBin ();
use Libfp;
use Scripted;
use lib $FindBin::Bin;
use Suite qw(fails);
use Test::More;

sub new_wheel {
    my ($flags) = @_;
    my $opts = Libfp::fp_timer_wheel_opts->new;
    $opts->{flags} = $flags // $Libfp::LIBFP_WHEEL_START_AT;
    return Libfp::fp_timer_wheel_create($opts);
}

subtest 'packed ids, results and records' => sub {
    my $wheel = new_wheel();
    my ($made, $ids) = Libfp::fp_timer_create_bulk($wheel, 0, pack('Q*', 5, 6, 7), 3);
    is($made,       3);
    is(length $ids, 24);
    my ($armed, $results)
        = Libfp::fp_timer_arm_bulk($wheel, $ids . pack('Q', 0), pack 'Q*', 30, 10, 20, 1);
    is($armed, 3);
    is_deeply([unpack 'l*', $results], [0, 0, 0, -116]);
    my ($got, $records) = Libfp::fp_timer_wheel_poll_burst($wheel, 25, 100);
    is($got, 2);
    my ($id, $user, $expiry, $overruns, $flags) = unpack 'QQQLL', $records;
    is_deeply([$id, $user, $expiry, $overruns, $flags],
        [(unpack 'Q*', $ids)[1], 6, 10, 0, 0]);
    is(length $records, 64);
    my ($cancelled) = Libfp::fp_timer_cancel_bulk($wheel, $ids);
    is($cancelled,                            1);
    is(Libfp::fp_timer_wheel_destroy($wheel), 0);
};

subtest 'tables that do not fit' => sub {
    my $wheel = new_wheel();
    my ($made, $ids) = Libfp::fp_timer_create_bulk($wheel, 0, '', 2);
    is($made, 2);
    fails(EINVAL => sub { Libfp::fp_timer_arm_bulk($wheel, $ids, pack 'Q', 1) });
    fails(EINVAL => sub { Libfp::fp_timer_arm_bulk($wheel, $ids, undef) });
    fails(EINVAL => sub { Libfp::fp_timer_cancel_bulk($wheel, 'abc') });
    fails(EINVAL => sub { Libfp::fp_timer_create_bulk($wheel, 0, pack('Q', 1), 2) });
    fails(EINVAL => sub { Libfp::fp_timer_create_bulk($wheel, 0, '', (1 << 20) + 1) });
    fails(EINVAL => sub { Libfp::fp_timer_wheel_poll_burst($wheel, 0, (1 << 20) + 1) });
    is_deeply([Libfp::fp_timer_wheel_poll_burst($wheel, 0, 0)], [0, '']);
    Libfp::fp_timer_wheel_destroy($wheel);
};

subtest 'what a tick is' => sub {
    my $wheel = new_wheel(0);
    my $now   = Libfp::fp_timer_wheel_now($wheel);
    my $id    = Libfp::fp_timer_create($wheel, 0, 0);
    is_deeply([Libfp::fp_timer_wheel_next_expiry($wheel)], [0, undef]);
    Libfp::fp_timer_arm($wheel, $id, $now + Libfp::fp_timer_wheel_ticks_from_ns($wheel, 3.6e12));
    is_deeply([Libfp::fp_timer_remaining($wheel, $id, $now)], [1, 3_600_000_000]);
    my ($next, $tick) = Libfp::fp_timer_wheel_next_expiry($wheel);
    is($next, 1);
    cmp_ok($tick, '<=', $now + 3_600_000_000);
    Libfp::fp_timer_wheel_destroy($wheel);
};

subtest 'a callback of C' => sub {
    my $wheel = new_wheel();
    Scripted::scripted_fired();
    my $id = Libfp::fp_timer_create($wheel, Scripted::scripted_timer(), 77);
    Libfp::fp_timer_arm($wheel, $id, 5);
    is(Libfp::fp_timer_wheel_poll($wheel, 9, $Libfp::LIBFP_WHEEL_NO_LIMIT), 1);
    is(Scripted::scripted_fired(),        1);
    my $record = pack 'q4', map { Scripted::scripted_record(0, $_) } 0 .. 3;
    is_deeply([unpack 'Q4', $record], [$id, 77, 5, 0]);
    Libfp::fp_timer_wheel_destroy($wheel);
};

subtest 'the service is the wheel\'s' => sub {
    my $wheel   = new_wheel(0);
    my $service = Libfp::fp_timer_wheel_service($wheel);
    my $wakeup  = Libfp::fp_service_wakeup($service);
    fails(EOPNOTSUPP => sub { Libfp::fp_service_destroy($service, 0, 0) });
    undef $service;
    $service = Libfp::fp_timer_wheel_service($wheel);
    Libfp::fp_service_start($service);
    Libfp::fp_timer_arm($wheel, Libfp::fp_timer_create($wheel, 0, 0), 1);
    Libfp::fp_service_run_once($service);
    is(Libfp::fp_timer_wheel_count($wheel),   0, 'it has polled');
    is(Libfp::fp_timer_wheel_destroy($wheel), 0);
    fails(EINVAL => sub { Libfp::fp_service_start($service) });
    fails(EINVAL => sub { Libfp::fp_wakeup_signal($wakeup) });
    undef $wheel;
    undef $service;
    fails(EINVAL => sub { Libfp::fp_wakeup_signal($wakeup) });
};

subtest 'one that is gone is refused' => sub {
    my $wheel = new_wheel();
    my $id    = Libfp::fp_timer_create($wheel, 0, 0);
    my $stats = Libfp::fp_timer_wheel_stats->new;
    Libfp::fp_timer_wheel_get_stats($wheel, $stats);
    is($stats->{timers}, 1);
    ok(!eval { $stats->{timers} = 2; 1 }, 'a counter is read-only');
    is(Libfp::fp_timer_wheel_destroy($wheel), 0);
    is(Libfp::fp_timer_wheel_destroy($wheel), 0, 'like free(NULL)');
    fails(EINVAL => sub { Libfp::fp_timer_arm($wheel, $id, 1) });
    fails(EINVAL => sub { Libfp::fp_timer_create($wheel, 0, 0) });
    fails(EINVAL => sub { Libfp::fp_timer_wheel_now($wheel) });
    fails(EINVAL => sub { Libfp::fp_timer_cancel(undef, $id) });
};

done_testing();
