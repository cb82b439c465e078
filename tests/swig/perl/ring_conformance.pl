#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Perl's driver of the conformance script: tests/conformance/README.md has the format.
#
#     ring_conformance.pl [--planted] ring.json

use strict;
use warnings;

use JSON::PP ();
use Libfp;

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

sub is_number { return JSON::PP->new->allow_nonref->encode($_[0]) !~ /^"/ }

sub element {
    my ($value, $size) = @_;
    if (is_number($value)) {
        return pack $size == 8 ? 'Q' : 'L', $value if $size == 8 || $size == 4;
        die "the script: a number for an element of $size bytes\n";
    }
    my $bytes = pack 'H*', $value;
    return substr $bytes x $size, 0, $size;
}

sub elements {
    my ($list, $size) = @_;
    $list = [$list->{first} .. $list->{first} + $list->{n} - 1] if ref $list eq 'HASH';
    return join '', map { element($_, $size) } @$list;
}

# ---- calls: each gets the run, the step and the ring ----

# Calls Libfp::fp_ring_<name>.
sub fp {
    my ($name, @arguments) = @_;
    no strict 'refs';
    return &{"Libfp::fp_ring_$name"}(@arguments);
}

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
    $run->{rings}{ $run->{ring} } = fp('create', $opts);
    return 0;
}

sub lookup {
    my ($run, $step) = @_;
    $run->{rings}{ $run->{ring} } = fp('lookup', $step->{name});
    return 0;
}

sub ends {
    my ($run, $step, $ring) = @_;
    my $got = fp($step->{do}, $ring);
    delete $run->{rings}{ $run->{ring} };
    return $got;
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

sub stats {
    my ($run, $step, $ring) = @_;
    my $stats = Libfp::fp_ring_stats->new;
    my $got   = fp('get_stats', $ring, $stats);
    for my $field (sort keys %{ $step->{fields} }) {
        die "the script: $field is no statistic\n" if !Libfp::fp_ring_stats->can("swig_${field}_get");
        compare("$field $step->{fields}{$field}", "$field $stats->{$field}");
    }
    return $got;
}

sub plain {
    my ($run, $step, $ring) = @_;
    return scalar fp($step->{do}, $ring);
}

my %calls = (
    create => \&create, lookup => \&lookup, destroy => \&ends, unref => \&ends,
    stats => \&stats,
    (map { $_ => \&enqueues } qw(enqueue enqueue_u64 enqueue_burst enqueue_bulk)),
    (map { $_ => \&dequeues } qw(dequeue dequeue_u64 dequeue_burst dequeue_bulk peek)),
    (map { ("reserve_$_" => \&reserve, "commit_$_" => \&commit) } qw(enqueue dequeue)),
);

# ---- steps and cases ----

sub compare {
    my ($expected, $got) = map { $_ // 'null' } @_;
    die { expected => $expected, got => $got } if $expected ne $got;
    return;
}

sub run_step {
    my ($run, $step) = @_;
    my $name = $step->{do};
    die "the script: $name is no call\n" if !exists $keys{$name};
    my %known = map { $_ => 1 } qw(do expect only why ring), split ' ', $keys{$name};
    for (keys %$step) { die "the script: $name has no $_\n" if !$known{$_} }

    $run->{ring} = $step->{ring} // 'r';
    my $ring = $run->{rings}{ $run->{ring} };
    die "the script: no ring $run->{ring}\n" if !$ring && $name !~ /^(create|lookup)$/;
    $run->{size} = $ring ? fp('elem_size', $ring) : 8;
    $run->{out}  = '';
    my $got = eval { ($calls{$name} // \&plain)->($run, $step, $ring) };
    if (my $error = $@) {
        die $error if ref $error ne 'Libfp::Error';
        $got = '-' . $error->name;
    }
    compare($step->{expect}, $got);
    compare(unpack('H*', elements($step->{out}, $run->{size})), unpack 'H*', $run->{out})
        if $step->{out};
    compare("$step->{after} after",
        fp($name =~ /^enqueue/ ? 'free_count' : 'count', $ring) . ' after')
        if exists $step->{after};
    if ($step->{pieces}) {
        my $span = span_of($run, $step);
        compare("@{ $step->{pieces} }", "$span->{n1} $span->{n2}");
    }
    return;
}

sub for_us {
    my ($object) = @_;
    return !$object->{only} || grep { $_ eq 'perl' } @{ $object->{only} };
}

my ($steps, $cases, $good) = (0, 0, 1);

# Tells the step that was wrong, counted from 1, or 0.
sub run_case {
    my ($case, $sides, $quiet) = @_;
    my $run = { rings => {}, spans => {}, sides => $sides };
    my $n   = 0;
    for my $step (@{ $case->{steps} }) {
        $n++;
        next if !for_us($step);
        if (!eval { run_step($run, $step); 1 }) {
            die $@ if ref $@ ne 'HASH';
            print STDERR "$case->{case} [$sides->[0]-$sides->[1]] step $n $step->{do}: ",
                "expected $@->{expected}, got $@->{got}\n"
                if !$quiet;
            return $n;
        }
        $steps++;
    }
    return 0 if !%{ $run->{rings} };
    print STDERR "$case->{case} ends, but a ring is open\n" if !$quiet;
    return $n;
}

my $planted = $ARGV[0] eq '--planted' && shift;
open my $file, '<', $ARGV[0] or die "$ARGV[0]: $!\n";
my $script = JSON::PP->new->utf8->decode(do { local $/; <$file> });
for my $case (grep { for_us($_) } @{ $script->{cases} }) {
    $cases++;
    for my $sides (@{ $case->{kinds} // [['mt', 'mt']] }) {
        my $wrong = run_case($case, $sides, $planted);
        my $last  = $planted ? @{ $case->{steps} } : 0;
        next if $wrong == $last;
        $good = 0;
        print STDERR "$case->{case}: the mistake was not found\n" if $planted;
    }
}
print $planted
    ? "mistakes of $cases cases looked for\n"
    : "$steps steps of $cases cases passed\n";
exit !($good && $cases);
