#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Rings from Perl, as a user of the wrappers meets them. What every call does is the
# conformance script's business; this is about what Perl adds.
#
#     ring.t exports.txt

use strict;
use warnings;

use FindBin ();
use Libfp;
use lib $FindBin::Bin;
use Suite qw(fails);
use Test::More;

sub new_ring {
    my (%options) = (capacity => 4, @_);
    my $opts = Libfp::fp_ring_opts->new;
    $opts->{$_} = $options{$_} for keys %options;
    return Libfp::fp_ring_create($opts);
}

subtest 'a loop of single calls' => sub {
    my $ring = new_ring(capacity => 64);
    my $sum  = 0;
    for my $i (1 .. 20_000) {
        Libfp::fp_ring_enqueue_u64($ring, $i) == 1 or die;
        my ($got, $value) = Libfp::fp_ring_dequeue_u64($ring);
        $sum += $value;
    }
    is($sum, 200_010_000);
    is_deeply([Libfp::fp_ring_dequeue_u64($ring)], [0, undef], 'empty');
    Libfp::fp_ring_enqueue_u64($ring, ~0);
    is((Libfp::fp_ring_dequeue_u64($ring))[1], 18446744073709551615, 'all bits');
    Libfp::fp_ring_destroy($ring);
};

subtest 'bursts of packed arrays' => sub {
    my $ring = new_ring(capacity => 5);
    is(Libfp::fp_ring_enqueue_burst($ring, pack 'Q*', 1 .. 9), 5);
    my ($got, $bytes) = Libfp::fp_ring_dequeue_burst($ring, 2);
    is_deeply([$got, unpack 'Q*', $bytes], [2, 1, 2]);
    ($got, $bytes) = Libfp::fp_ring_dequeue_burst($ring, 1_000_000_000);
    is_deeply([$got, unpack 'Q*', $bytes], [3, 3, 4, 5]);
    is_deeply([Libfp::fp_ring_dequeue_burst($ring, 7)], [0, ''], 'empty');
    is(Libfp::fp_ring_enqueue_burst($ring, ''), 0, 'nothing');
    is(Libfp::fp_ring_enqueue_bulk($ring, pack 'Q*', 6, 7), 2);
    ($got, $bytes) = Libfp::fp_ring_dequeue_bulk($ring, 2);
    is_deeply([$got, unpack 'Q*', $bytes], [2, 6, 7]);
    Libfp::fp_ring_destroy($ring);
};

subtest 'one element of any size' => sub {
    my $ring = new_ring(elem_size => 12);
    is(Libfp::fp_ring_enqueue($ring, 'twelve bytes'), 1);
    is_deeply([Libfp::fp_ring_dequeue($ring)], [1, 'twelve bytes']);
    fails(EINVAL => sub { Libfp::fp_ring_enqueue($ring, 'too short') });
    fails(EINVAL => sub { Libfp::fp_ring_enqueue_burst($ring, 'x' x 13) });
    fails(EINVAL => sub { Libfp::fp_ring_enqueue_u64($ring, 1) });
    is(Libfp::fp_ring_count($ring), 0);
    Libfp::fp_ring_destroy($ring);
};

subtest 'what is no packed string is refused' => sub {
    my $ring = new_ring();
    fails(EINVAL => sub { Libfp::fp_ring_enqueue_burst($ring, undef) });
    fails(EINVAL => sub { Libfp::fp_ring_enqueue_burst($ring, [1, 2]) });
    fails(EINVAL => sub { Libfp::fp_ring_enqueue_burst($ring, "\x{20ac}" x 8) }, 'wide');
    fails(EINVAL => sub { Libfp::fp_ring_dequeue_burst($ring, -1) });
    fails(EINVAL => sub { Libfp::fp_ring_dequeue_burst($ring, 2**31) });
    fails(EINVAL => sub { Libfp::fp_ring_dequeue_burst($ring, 2**32) });
    my $upgraded = pack 'Q', 200;
    utf8::upgrade($upgraded);
    is(Libfp::fp_ring_enqueue_burst($ring, $upgraded), 1, 'bytes however they are stored');
    is((Libfp::fp_ring_dequeue_u64($ring))[1], 200);
    Libfp::fp_ring_destroy($ring);
};

subtest 'errors carry errno and text' => sub {
    eval { new_ring(capacity => 0) };
    my $error = $@;
    isa_ok($error, 'Libfp::Error');
    is($error->errno, 22);
    is($error->name,  'EINVAL');
    is("$error", Libfp::fp_strerror(-22));
    fails(EINVAL       => sub { Libfp::fp_ring_create(undef) });
    fails(EOPNOTSUPP   => sub { new_ring(flags => 1 << 31) });
    fails(ENAMETOOLONG => sub { new_ring(name => 'n' x 64) });
    ok(!eval { new_ring(capacity => 2**32); 1 }, 'a capacity that does not fit');
    ok(!eval { new_ring(capacity => -1);    1 }, 'a negative capacity');
};

subtest 'close ends a pipeline' => sub {
    my ($in, $out) = (new_ring(capacity => 64), new_ring(capacity => 64));
    my ($next, $sum, $ends) = (1, 0, 0);
    while (!$ends) {
        if ($next <= 10_000) {
            my $last = $next + 31 > 10_000 ? 10_000 : $next + 31;
            $next += Libfp::fp_ring_enqueue_burst($in, pack 'Q*', $next .. $last);
            Libfp::fp_ring_close($in) if $next > 10_000;
        }
        my (undef, $bytes) = eval { Libfp::fp_ring_dequeue_burst($in, 32) };
        if ($@) {
            is($@->name, 'EPIPE', 'the first ring ends');
            Libfp::fp_ring_close($out);
            $ends = 1;
        } else {
            Libfp::fp_ring_enqueue_bulk($out, pack 'Q*', map { 2 * $_ } unpack 'Q*', $bytes);
        }
        while (my ($got, $more) = eval { Libfp::fp_ring_dequeue_burst($out, 64) }) {
            last if !$got;
            $sum += $_ for unpack 'Q*', $more;
        }
    }
    is($sum, 2 * 50_005_000);
    fails(EPIPE => sub { Libfp::fp_ring_enqueue_u64($in, 1) });
    is(Libfp::fp_ring_is_closed($in), 1);
    Libfp::fp_ring_destroy($_) for $in, $out;
};

subtest 'lookup holds a reference' => sub {
    my $ring = new_ring(name => 'perl');
    is(Libfp::fp_ring_name($ring), 'perl');
    fails(EEXIST => sub { new_ring(name => 'perl') });
    my $found = Libfp::fp_ring_lookup('perl');
    Libfp::fp_ring_enqueue_u64($found, 5);
    is(Libfp::fp_ring_count($ring), 1);
    fails(EBUSY => sub { Libfp::fp_ring_destroy($ring) });
    is(Libfp::fp_ring_count($ring), 1, 'refused, and still there');
    Libfp::fp_ring_unref($found);
    fails(EINVAL => sub { Libfp::fp_ring_unref($found) });
    fails(EINVAL => sub { Libfp::fp_ring_count($found) });
    Libfp::fp_ring_destroy($ring);
    fails(ENOENT => sub { Libfp::fp_ring_lookup('perl') });
    fails(EINVAL => sub { Libfp::fp_ring_lookup(undef) });
};

subtest 'use after destroy is an error' => sub {
    my $ring = new_ring();
    Libfp::fp_ring_destroy($ring);
    fails(EINVAL => sub { Libfp::fp_ring_enqueue_u64($ring, 1) });
    fails(EINVAL => sub { Libfp::fp_ring_enqueue_burst($ring, pack 'Q', 1) });
    fails(EINVAL => sub { Libfp::fp_ring_dequeue($ring) });
    fails(EINVAL => sub { Libfp::fp_ring_dequeue_burst($ring, 4) });
    fails(EINVAL => sub { Libfp::fp_ring_count($ring) });
    fails(EINVAL => sub { Libfp::fp_ring_close($ring) });
    fails(EINVAL => sub {
        Libfp::fp_ring_reserve_enqueue($ring, 1, 0, Libfp::fp_ring_span->new);
    });
    is(Libfp::fp_ring_name($ring), undef);
    is(Libfp::fp_ring_destroy($ring), 0, 'like free(NULL)');
    fails(EINVAL => sub { Libfp::fp_ring_count(undef) });
    ok(!eval { Libfp::fp_ring_count(Libfp::fp_ring_opts->new); 1 }, 'another object');
};

subtest 'spans are written and read in place' => sub {
    my $ring = new_ring();
    my $span = Libfp::fp_ring_span->new;
    fails(EINVAL => sub { $span->write(0, pack 'Q', 1) });
    Libfp::fp_ring_enqueue_burst($ring, pack 'Q*', 0, 0, 0);
    Libfp::fp_ring_dequeue_burst($ring, 3);
    is(Libfp::fp_ring_reserve_enqueue($ring, 9, 0, $span), 4);
    is("$span->{n1} $span->{n2}", '1 3');
    fails(EINVAL => sub { Libfp::fp_ring_reserve_enqueue($ring, 1, 0, $span) });
    is($span->write(1, pack 'Q*', 11, 12, 13), 3);
    is($span->write(0, pack 'Q',  10), 1);
    fails(EINVAL => sub { $span->write(2, pack 'Q*', 1, 2, 3) });
    fails(EBUSY  => sub { Libfp::fp_ring_destroy($ring) });
    is(Libfp::fp_ring_commit_enqueue($ring, $span, 3), 3);
    fails(EINVAL => sub { Libfp::fp_ring_commit_enqueue($ring, $span, 3) });

    is(Libfp::fp_ring_reserve_dequeue($ring, 3, $Libfp::LIBFP_RING_BULK, $span), 3);
    my ($got, $bytes) = $span->read(1, 2);
    is_deeply([$got, unpack 'Q*', $bytes], [2, 11, 12]);
    fails(EINVAL => sub { $span->read(2, 2) });
    is(Libfp::fp_ring_commit_dequeue($ring, $span, 3), 3);
    Libfp::fp_ring_destroy($ring);
    fails(EINVAL => sub { $span->read(0, 1) });
};

subtest 'an object that is dropped gives its ring back' => sub {
    my $ring  = new_ring(name => 'dropped');
    my $found = Libfp::fp_ring_lookup('dropped');
    undef $found;
    undef $ring;
    fails(ENOENT => sub { Libfp::fp_ring_lookup('dropped') });
};

subtest 'statistics and constants' => sub {
    my $ring = new_ring();
    Libfp::fp_ring_enqueue_burst($ring, pack 'Q*', 1 .. 3);
    my $stats = Libfp::fp_ring_stats->new;
    is(Libfp::fp_ring_get_stats($ring, $stats), 0);
    is("$stats->{enqueued} $stats->{dequeued} $stats->{count}", '3 0 3');
    is($Libfp::LIBFP_FOREVER, -1);
    # The same version, or a newer patch of it.
    is($Libfp::LIBFP_VERSION_NUMBER >> 8, Libfp::fp_version_number() >> 8);
    like(Libfp::fp_version_string(), qr/^\d+\.\d+\.\d+$/);
};

subtest 'exports.txt lists what is wrapped' => sub {
    open my $file, '<', $ARGV[0] or die "$ARGV[0]: $!\n";
    # The initialiser of an options struct is called by its constructor.
    my @listed = sort grep { !/_init$/ } map { /^(\w+) wrapped / ? $1 : () } <$file>;
    no strict 'refs';
    my @wrapped = sort grep { /^fp_/ && defined &{"Libfp::$_"} } keys %Libfp::;
    is_deeply(\@wrapped, \@listed);
};

done_testing();
