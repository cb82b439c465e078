# SPDX-License-Identifier: BSD-2-Clause
#
# What Perl's drivers of conformance scripts share: cases, steps, values.
# tests/conformance/README.md has the format.

package Conformance;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP ();
use Libfp;

our @EXPORT_OK = qw(compare compare_fields element is_number run_script);

# ---- values of the script ----

sub is_number { return JSON::PP->new->allow_nonref->encode($_[0]) !~ /^"/ }

# An element of $size bytes as it lies in memory.
sub element {
    my ($value, $size) = @_;
    if (is_number($value)) {
        return pack $size == 8 ? 'Q' : 'L', $value if $size == 8 || $size == 4;
        die "the script: a number for an element of $size bytes\n";
    }
    my $bytes = pack 'H*', $value;
    return substr $bytes x $size, 0, $size;
}

# ---- comparison ----

sub compare {
    my ($expected, $got) = map { $_ // 'null' } @_;
    die { expected => $expected, got => $got } if $expected ne $got;
    return;
}

# The statistics that the step names.
sub compare_fields {
    my ($step, $stats) = @_;
    for my $field (sort keys %{ $step->{fields} }) {
        die "the script: $field is no statistic\n" if !$stats->can("swig_${field}_get");
        compare("$field $step->{fields}{$field}", "$field $stats->{$field}");
    }
    return;
}

# ---- steps and cases ----

my ($part, $steps, $cases, $good) = (undef, 0, 0, 1);

sub run_step {
    my ($run, $step) = @_;
    my $name = $step->{do};
    my $keys = $part->{keys}{$name} // die "the script: $name is no call\n";
    my %known = map { $_ => 1 } qw(do expect only why), split ' ', $keys;
    for (keys %$step) { die "the script: $name has no $_\n" if !$known{$_} }

    $part->{prepare}->($run, $step);
    my $got = eval { $part->{call}->($run, $step) };
    if (my $error = $@) {
        die $error if ref $error ne 'Libfp::Error';
        $got = '-' . $error->name;
    }
    $got = 'positive' if ($step->{expect} // '') eq 'positive' && $got =~ /^[1-9]/;
    compare($step->{expect}, $got);
    return $part->{check}->($run, $step);
}

sub for_us {
    my ($object) = @_;
    return !$object->{only} || grep { $_ eq 'perl' } @{ $object->{only} };
}

# Tells the step that was wrong, counted from 1, or 0.
sub run_case {
    my ($case, $sides, $quiet) = @_;
    my $run = { sides => $sides };
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
    return 0 if !$part->{open}->($run);
    print STDERR "$case->{case} ends, but something is open\n" if !$quiet;
    return $n;
}

# A driver's main. What a part brings: its name; the keys that each call knows; and
# functions of the run and the step: prepare, call, check what is not the result; open
# tells whether anything is when a case ends. Returns the exit status.
sub run_script {
    ($part, my @arguments) = @_;
    my $planted = $arguments[0] eq '--planted' && shift @arguments;
    open my $file, '<', $arguments[0] or die "$arguments[0]: $!\n";
    my $script = JSON::PP->new->utf8->decode(do { local $/; <$file> });
    die "the script: it is for another part\n" if $script->{part} ne $part->{name};
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
    return !($good && $cases);
}

1;
