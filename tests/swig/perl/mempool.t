#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Pools from Perl, as a user of the wrappers meets them. What every call does is the
# conformance script's business; this is about what Perl adds.

use strict;
use warnings;

use FindBin ();
use Libfp;
use lib $FindBin::Bin;
use Suite qw(fails);
use Test::More;

sub new_pool {
    my (%options) = (count => 4, object_size => 64, @_);
    my $opts = Libfp::fp_mempool_opts->new;
    $opts->{$_} = $options{$_} for keys %options;
    return Libfp::fp_mempool_create($opts);
}

subtest 'a loop of single calls' => sub {
    my $pool = new_pool();
    for (1 .. 20_000) {
        my $object = Libfp::fp_mempool_get($pool) or die;
        Libfp::fp_mempool_put($pool, $object) == 0 or die;
    }
    is(Libfp::fp_mempool_avail_count($pool), 4);
    is(Libfp::fp_mempool_destroy($pool),     0);
};

subtest 'none is 0, errors die' => sub {
    my $pool   = new_pool(count => 1);
    my $object = Libfp::fp_mempool_get($pool);
    is(Libfp::fp_mempool_get($pool),         0);
    is(Libfp::fp_mempool_object($pool, 1),   0);
    is(Libfp::fp_mempool_put($pool, $object), 0);
    Libfp::fp_mempool_destroy($pool);
    fails(EINVAL => sub { Libfp::fp_mempool_get($pool) });
    fails(EINVAL => sub { Libfp::fp_mempool_get(undef) });
};

subtest 'tables of objects' => sub {
    my $pool = new_pool(count => 8);
    my ($got, $table) = Libfp::fp_mempool_get_bulk($pool, 5);
    is($got, 5);
    my %index = map { Libfp::fp_mempool_index($pool, $_) => 1 } unpack 'Q*', $table;
    is(keys %index, 5, 'five objects');
    is_deeply([Libfp::fp_mempool_get_bulk($pool, 4)], [0, ''], 'all or none');
    is_deeply([Libfp::fp_mempool_get_bulk($pool, 0)], [0, '']);
    is(Libfp::fp_mempool_put_bulk($pool, $table), 5);
    is(Libfp::fp_mempool_put_bulk($pool, ''),     0);
    fails(EINVAL => sub { Libfp::fp_mempool_get_bulk($pool, 9) });
    fails(EINVAL => sub { Libfp::fp_mempool_get_bulk($pool, -1) });
    fails(EINVAL => sub { Libfp::fp_mempool_put_bulk($pool, 'x' x 7) });
    fails(EINVAL => sub { Libfp::fp_mempool_put_bulk($pool, undef) });
    Libfp::fp_mempool_destroy($pool);
    fails(EINVAL => sub { Libfp::fp_mempool_get_bulk($pool, 1) });
};

subtest 'memory of objects' => sub {
    my $pool   = new_pool(object_size => 12);
    my $object = Libfp::fp_mempool_get($pool);
    is_deeply([Libfp::fp_mempool::read($pool, $object, 0, 12)], [12, "\0" x 12]);
    is(Libfp::fp_mempool::write($pool, $object, 4, 'abcd'), 4);
    is_deeply([Libfp::fp_mempool::read($pool, $object, 3, 6)], [6, "\0abcd\0"]);
    is(Libfp::fp_mempool::write($pool, $object, 12, ''), 0);
    fails(EINVAL => sub { Libfp::fp_mempool::write($pool, $object, 9, 'abcd') });
    fails(EINVAL => sub { Libfp::fp_mempool::read($pool, $object, 0, 13) });
    fails(EINVAL => sub { Libfp::fp_mempool::read($pool, $object, 0, 1_000_000_000) });
    fails(EINVAL => sub { Libfp::fp_mempool::read($pool, $object, 2**32 - 1, 1) });
    fails(EINVAL => sub { Libfp::fp_mempool::read($pool, $object + 1, 0, 1) });
    Libfp::fp_mempool_put($pool, $object);
    is(Libfp::fp_mempool_get($pool), $object);
    is((Libfp::fp_mempool::read($pool, $object, 4, 4))[1], 'abcd', 'it stays');
    Libfp::fp_mempool_put($pool, $object);
    Libfp::fp_mempool_destroy($pool);
    fails(EINVAL => sub { Libfp::fp_mempool::read($pool, $object, 0, 1) });
};

subtest 'what is no object is refused' => sub {
    my $pool   = new_pool();
    my $cache  = Libfp::fp_mempool_cache_create($pool);
    my $object = Libfp::fp_mempool_get($pool);
    fails(EFAULT => sub { Libfp::fp_mempool_put($pool, 12345) });
    fails(EFAULT => sub { Libfp::fp_mempool_put($pool, $object + 8) });
    fails(EINVAL => sub { Libfp::fp_mempool_put($pool, 0) });
    fails(EFAULT => sub { Libfp::fp_mempool_put_bulk($pool, pack 'Q*', $object, 1) });
    fails(EFAULT => sub { Libfp::fp_mempool_put_bulk($pool, pack 'Q', 0) });
    fails(EFAULT => sub { Libfp::fp_mempool_put_via_cache($pool, $cache, 1) });
    fails(EFAULT => sub { Libfp::fp_mempool_put_bulk_via_cache($pool, $cache, pack 'Q', 1) });
    ok(!eval { Libfp::fp_mempool_put($pool, 'text');  1 }, 'no number');
    ok(!eval { Libfp::fp_mempool_put($pool, $cache); 1 }, 'a reference');
    is(Libfp::fp_mempool_in_use_count($pool), 1);
    Libfp::fp_mempool_put($pool, $object);
    Libfp::fp_mempool_cache_destroy($cache);
    Libfp::fp_mempool_destroy($pool);
};

subtest 'a checked pool counts misuse' => sub {
    my $pool   = new_pool(flags => $Libfp::LIBFP_CHECKED);
    my $object = Libfp::fp_mempool_get($pool);
    fails(EFAULT => sub { Libfp::fp_mempool_put($pool, $object + 8) });
    Libfp::fp_mempool_put($pool, $object);
    fails(EALREADY => sub { Libfp::fp_mempool_put($pool, $object) });
    Libfp::fp_mempool::write($pool, $object, 0, 'x');
    fails(EUCLEAN => sub { Libfp::fp_mempool_get($pool) });
    my $stats = Libfp::fp_mempool_stats->new;
    Libfp::fp_mempool_get_stats($pool, $stats);
    is($stats->{misuses}, 3);
    Libfp::fp_mempool_destroy($pool);
};

subtest 'explicit caches' => sub {
    my ($pool, $other) = (new_pool(), new_pool());
    my $cache  = Libfp::fp_mempool_cache_create($pool);
    my $object = Libfp::fp_mempool_get_via_cache($pool, $cache);
    fails(EINVAL => sub { Libfp::fp_mempool_get_via_cache($other, $cache) });
    Libfp::fp_mempool_put_via_cache($pool, $cache, $object);
    is(Libfp::fp_mempool_cache_count($cache), 1);
    fails(EBUSY => sub { Libfp::fp_mempool_destroy($pool) });
    is(Libfp::fp_mempool_cache_destroy($cache), 0);
    fails(EINVAL => sub { Libfp::fp_mempool_cache_count($cache) });
    is(Libfp::fp_mempool_cache_destroy($cache), 0, 'like free(NULL)');
    $cache = Libfp::fp_mempool_cache_create($pool);
    Libfp::fp_mempool_put_via_cache($pool, $cache,
        Libfp::fp_mempool_get_via_cache($pool, $cache));
    undef $cache;
    is(Libfp::fp_mempool_destroy($pool),  0, 'one that was dropped keeps nothing');
    is(Libfp::fp_mempool_destroy($other), 0);
    fails(EINVAL => sub { Libfp::fp_mempool_cache_create($pool) });
};

subtest 'a pool that is dropped' => sub {
    my $pool  = new_pool(name => 'perl pool');
    my $found = Libfp::fp_mempool_lookup('perl pool');
    undef $found;
    undef $pool;
    fails(ENOENT => sub { Libfp::fp_mempool_lookup('perl pool') });

    $pool = new_pool(name => 'perl pool');
    my $object = Libfp::fp_mempool_get($pool);
    undef $pool;
    my $again = Libfp::fp_mempool_lookup('perl pool');
    is(Libfp::fp_mempool_put($again, $object), 0, 'objects were out: it stayed');
    Libfp::fp_mempool_unref($again);
    fails(EINVAL => sub { Libfp::fp_mempool_get($again) });
};

subtest 'objects travel through a ring' => sub {
    my $pool = new_pool(count => 64, object_size => 8);
    my $opts = Libfp::fp_ring_opts->new;
    $opts->{capacity} = 32;
    my $ring = Libfp::fp_ring_create($opts);
    my ($next, $sum) = (1, 0);
    while ($next <= 10_000) {
        my ($got, $table) = Libfp::fp_mempool_get_bulk($pool, 20);
        Libfp::fp_mempool::write($pool, $_, 0, pack 'Q', $next++) for unpack 'Q*', $table;
        is(Libfp::fp_ring_enqueue_bulk($ring, $table), 20) if $next < 30;
        Libfp::fp_ring_enqueue_bulk($ring, $table) if $next >= 30;
        (undef, $table) = Libfp::fp_ring_dequeue_burst($ring, 32);
        $sum += unpack 'Q', (Libfp::fp_mempool::read($pool, $_, 0, 8))[1]
            for unpack 'Q*', $table;
        Libfp::fp_mempool_put_bulk($pool, $table);
    }
    is($sum, 50_005_000);
    is(Libfp::fp_mempool_is_full($pool), 1);
    Libfp::fp_ring_destroy($ring);
    Libfp::fp_mempool_destroy($pool);
};

subtest 'leaks are a list' => sub {
    my $pool = new_pool(flags => $Libfp::LIBFP_CHECKED);
    is(Libfp::fp_mempool_leaks($pool)->count, 0);
    my $object = Libfp::fp_mempool_get($pool);
    Libfp::fp_mempool_set_tag($pool, $object, ~0);
    my $list = Libfp::fp_mempool_leaks($pool);
    is($list->count, 1);
    my $leak = $list->get(0);
    is($leak->{object}, $object);
    is($leak->{tag},    ~0);
    is($leak->{thread}, $$);
    fails(EINVAL => sub { $list->get(1) });
    fails(EINVAL => sub { $list->get(-1) });
    undef $list;
    is($leak->{object}, $object, 'a copy');
    Libfp::fp_mempool_put($pool, $object);
    Libfp::fp_mempool_destroy($pool);
    fails(EINVAL     => sub { Libfp::fp_mempool_leaks($pool) });
    fails(EOPNOTSUPP => sub { Libfp::fp_mempool_leaks(new_pool()) });
};

done_testing();
