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
use Conformance qw(compare element fp keep run_script);

my %keys = map { $_ => '' } qw(destroy unref close reset count free_count capacity
    elem_size is_full is_empty is_closed producer_sync consumer_sync name);
%keys = (
    %keys,
    create          => 'capacity elem_size name stats checked producer consumer',
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
        | ($step->{checked} ? $Libfp::LIBFP_CHECKED : 0);
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

my %calls = (
    create => \&create,
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
        prepare   => \&prepare,
        check     => \&check,
    },
    @ARGV
);
