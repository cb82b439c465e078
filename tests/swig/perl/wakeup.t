#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Wake-ups and waiting rings from Perl, as a user of the wrappers meets them. What every
# call does is the conformance script's business; this is about what Perl adds.

use strict;
use warnings;

use FindBin ();
use Libfp;
use lib $FindBin::Bin;
use Suite qw(fails);
use Test::More;

my ($producer, $consumer) = ($Libfp::LIBFP_RING_PRODUCER, $Libfp::LIBFP_RING_CONSUMER);

sub new_wakeup { return Libfp::fp_wakeup_create(Libfp::fp_wakeup_opts->new) }

sub new_ring {
    my ($flags) = @_;
    my $opts = Libfp::fp_ring_opts->new;
    $opts->{capacity} = 4;
    $opts->{flags}    = $flags // 0;
    return Libfp::fp_ring_create($opts);
}

subtest 'prepare returns the key' => sub {
    my $wakeup = new_wakeup();
    my $key    = Libfp::fp_wakeup_prepare($wakeup);
    like($key, qr/^\d+$/);
    is(Libfp::fp_wakeup_signal($wakeup), 1);
    is(Libfp::fp_wakeup_wait($wakeup, $key, $Libfp::LIBFP_FOREVER), 0);
    $key = Libfp::fp_wakeup_prepare($wakeup);
    fails(ETIMEDOUT => sub { Libfp::fp_wakeup_wait($wakeup, $key, 1000) });
    is(Libfp::fp_wakeup_destroy($wakeup), 0);
};

subtest 'an event loop: select on the descriptor' => sub {
    my ($wakeup, $ring) = (new_wakeup(), new_ring());
    Libfp::fp_ring_set_wakeup($ring, $consumer, $wakeup);
    vec(my $wanted = '', Libfp::fp_wakeup_fd($wakeup), 1) = 1;
    my ($sum, $sent) = (0, 0);
    while ($sum < 5050) {
        Libfp::fp_wakeup_arm($wakeup);
        is(Libfp::fp_ring_count($ring), 0) if $sent < 3;
        Libfp::fp_ring_enqueue_u64($ring, ++$sent);
        select my $ready = $wanted, undef, undef, undef;
        is(Libfp::fp_wakeup_clear($wakeup), 1) if $sent < 3;
        Libfp::fp_wakeup_clear($wakeup) if $sent >= 3;
        my ($got, $bytes) = Libfp::fp_ring_dequeue_burst($ring, 4);
        $sum += $_ for unpack 'Q*', $bytes;
    }
    is($sent, 100);
    my $stats = Libfp::fp_wakeup_stats->new;
    Libfp::fp_wakeup_get_stats($wakeup, $stats);
    is($stats->{fd_writes}, 100);
    is($stats->{bound},     1);
    ok(!eval { $stats->{bound} = 2; 1 }, 'a counter is read-only');
    Libfp::fp_ring_destroy($ring);
    is(Libfp::fp_wakeup_destroy($wakeup), 0);
};

subtest 'waiting, then a burst' => sub {
    my $ring = new_ring($Libfp::LIBFP_RING_WAIT);
    is(Libfp::fp_ring_wait_readable($ring, 1000),                  0);
    is(Libfp::fp_ring_wait_writable($ring, $Libfp::LIBFP_FOREVER), 1);
    Libfp::fp_ring_enqueue_burst($ring, pack 'Q*', 1, 2);
    is(Libfp::fp_ring_wait_readable($ring, $Libfp::LIBFP_FOREVER), 1);
    is((Libfp::fp_ring_dequeue_burst($ring, 4))[0],                2);
    Libfp::fp_ring_close($ring);
    fails(EPIPE => sub { Libfp::fp_ring_wait_readable($ring, $Libfp::LIBFP_FOREVER) });
    Libfp::fp_ring_destroy($ring);
    fails(EINVAL => sub { Libfp::fp_ring_wait_readable($ring, 0) });
};

subtest 'a wake-up that is gone is refused' => sub {
    my ($wakeup, $ring) = (new_wakeup(), new_ring());
    Libfp::fp_ring_set_wakeup($ring, $producer, $wakeup);
    fails(EBUSY => sub { Libfp::fp_wakeup_destroy($wakeup) });
    Libfp::fp_ring_set_wakeup($ring, $producer, undef);
    is(Libfp::fp_wakeup_destroy($wakeup), 0);
    fails(EINVAL => sub { Libfp::fp_ring_set_wakeup($ring, $producer, $wakeup) });
    fails(EINVAL => sub { Libfp::fp_wakeup_prepare($wakeup) });
    fails(EINVAL => sub { Libfp::fp_wakeup_prepare(undef) });
    fails(EINVAL => sub { Libfp::fp_wakeup_signal($wakeup) });
    is(Libfp::fp_wakeup_destroy($wakeup), 0, 'like free(NULL)');
    ok(!eval { Libfp::fp_wakeup_signal($ring); 1 }, 'a ring is no wake-up');
    Libfp::fp_ring_destroy($ring);
};

done_testing();
