#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Perl's driver of the pools' conformance script.
#
#     mempool_conformance.pl [--planted] mempool.json

use strict;
use warnings;

use FindBin ();
use Libfp;
use lib $FindBin::Bin;
use Conformance qw(compare element fp is_number keep run_script);

my %keys = map { $_ => '' } qw(destroy unref flush reclaim stride object_size capacity
    cache_size memory avail_count in_use_count is_full is_empty audit name);
%keys = (
    %keys,
    (map { $_ => 'cache' } qw(cache_create cache_destroy cache_flush cache_count)),
    create => 'count object_size align cache_size max_threads name stats checked no_cache',
    lookup => 'name',
    get      => 'cache out',
    put      => 'cache object offset',
    get_bulk => 'cache n out',
    put_bulk => 'cache objects',
    index    => 'object offset',
    object   => 'index out',
    contains => 'object offset',
    set_tag  => 'object tag',
    leaks    => 'tags',
    write    => 'object bytes',
    holds    => 'object bytes',
    stats    => 'fields',
);

# ---- what steps name ----

# The address of an object; undef: a name that is new.
sub object_of {
    my ($run, $pool, $value) = @_;
    return fp('base', $pool) + $value * fp('stride', $pool) if is_number($value);
    return $run->{objects}{$value};
}

sub argument {
    my ($run, $step, $pool) = @_;
    return object_of($run, $pool, $step->{object}) + ($step->{offset} // 0);
}

sub list {
    my ($list) = @_;
    return @$list if ref $list eq 'ARRAY';
    my ($from, $to) = @{$list}{qw(from to)};
    my @numbers = $from <= $to ? $from .. $to : reverse $to .. $from;
    return map { $list->{name} . $_ } @numbers;
}

# The call, through the cache if the step names one.
sub through {
    my ($run, $step, $pool, @arguments) = @_;
    return fp($step->{do}, $pool, @arguments) if !$step->{cache};
    return fp("$step->{do}_via_cache", $pool, $run->{caches}{ $step->{cache} }, @arguments);
}

# ---- calls: each gets the run, the step and the pool ----

sub create {
    my ($run, $step) = @_;
    my $opts = Libfp::fp_mempool_opts->new;
    $opts->{object_size} = 64;
    for (qw(count object_size align cache_size max_threads name)) {
        $opts->{$_} = $step->{$_} if exists $step->{$_};
    }
    $opts->{flags} = ($step->{stats} ? $Libfp::LIBFP_STATS : 0)
        | ($step->{checked}  ? $Libfp::LIBFP_CHECKED       : 0)
        | ($step->{no_cache} ? $Libfp::LIBFP_POOL_NO_CACHE : 0)
        | ($run->{sides}[0] eq 'st' ? $Libfp::LIBFP_POOL_ST_GET : 0)
        | ($run->{sides}[1] eq 'st' ? $Libfp::LIBFP_POOL_ST_PUT : 0);
    return keep($run, fp('create', $opts));
}

sub cache {
    my ($run, $step, $pool) = @_;
    my $name = $step->{cache} // 'c';
    if ($step->{do} eq 'cache_create') {
        $run->{caches}{$name} = fp('cache_create', $pool);
        return 0;
    }
    return fp($step->{do}, $run->{caches}{$name});
}

sub came_out {
    my ($run, @objects) = @_;
    for (@objects) { compare('an object that is not out', 'one that is') if $run->{held}{$_}++ }
    $run->{out} = \@objects;
    return scalar @objects;
}

sub get {
    my ($run, $step, $pool) = @_;
    my $object = through($run, $step, $pool);
    return came_out($run, $object ? $object : ());
}

sub get_bulk {
    my ($run, $step, $pool) = @_;
    my ($got, $table) = through($run, $step, $pool, $step->{n});
    compare($got, came_out($run, unpack 'Q*', $table));
    return $got;
}

sub put {
    my ($run, $step, $pool) = @_;
    my $object = argument($run, $step, $pool);
    my $got    = through($run, $step, $pool, $object);
    delete $run->{held}{$object};
    return $got;
}

sub put_bulk {
    my ($run, $step, $pool) = @_;
    my @objects = map { object_of($run, $pool, $_) } list($step->{objects});
    my $got     = through($run, $step, $pool, pack 'Q*', @objects);
    delete @{ $run->{held} }{@objects};
    return $got;
}

sub object {
    my ($run, $step, $pool) = @_;
    my $object = fp('object', $pool, $step->{index}) or return 0;
    compare(fp('base', $pool) + $step->{index} * fp('stride', $pool), $object);
    $run->{out} = [$object];
    return 1;
}

sub of_object {
    my ($run, $step, $pool) = @_;
    return fp($step->{do}, $pool, argument($run, $step, $pool), $step->{tag} // ());
}

sub bytes {
    my ($run, $step, $pool) = @_;
    my $object = argument($run, $step, $pool);
    my $bytes  = element($step->{bytes}, fp('object_size', $pool));
    if ($step->{do} eq 'write') {
        compare(length $bytes, Libfp::fp_mempool::write($pool, $object, 0, $bytes));
        return 0;
    }
    my ($got, $seen) = Libfp::fp_mempool::read($pool, $object, 0, length $bytes);
    return $seen eq $bytes ? 1 : 0;
}

sub leaks {
    my ($run, $step, $pool) = @_;
    my $list  = fp('leaks', $pool);
    my @leaks = map { $list->get($_) } 0 .. $list->count - 1;
    compare(fp('object', $pool, $_->{index}), $_->{object}) for @leaks;
    if ($step->{tags}) {
        my %wanted = map { $run->{objects}{$_} => $step->{tags}{$_} } keys %{ $step->{tags} };
        my %tags   = map { $_->{object}        => $_->{tag} } @leaks;
        compare(join(' ', map { "$_:$wanted{$_}" } sort keys %wanted),
            join ' ', map { "$_:$tags{$_}" } sort keys %tags);
    }
    return $list->count;
}

my %calls = (
    create => \&create, object   => \&object,   leaks => \&leaks,
    get    => \&get,    get_bulk => \&get_bulk, put   => \&put, put_bulk => \&put_bulk,
    (map { ("cache_$_" => \&cache) } qw(create destroy flush count)),
    (map { $_ => \&of_object } qw(index contains set_tag)),
    (map { $_ => \&bytes } qw(write holds)),
);

# ---- steps ----

sub prepare {
    my ($run) = @_;
    $run->{out} = [];
    return;
}

sub check {
    my ($run, $step, $pool) = @_;
    my @out  = @{ $run->{out} };
    my @names = list($step->{out} // []);
    compare(@names . ' objects', @out . ' objects');
    for my $i (grep { defined $names[$_] } 0 .. $#out) {
        my $wanted = object_of($run, $pool, $names[$i]);
        $run->{objects}{ $names[$i] } = $wanted = $out[$i] if !defined $wanted;
        compare("object $wanted", "object $out[$i]");
    }
    return;
}

exit run_script(
    {   name      => 'mempool',
        key       => 'pool',
        otherwise => 'p',
        keys      => \%keys,
        calls     => \%calls,
        prepare   => \&prepare,
        check     => \&check,
    },
    @ARGV
);
