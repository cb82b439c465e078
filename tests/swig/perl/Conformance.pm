# SPDX-License-Identifier: BSD-2-Clause
#
# What Perl's drivers of conformance scripts share: cases, steps, values, and the calls
# that all parts have. tests/conformance/README.md has the format.

package Conformance;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP ();
use Libfp;

our @EXPORT_OK = qw(compare compare_fields element fp is_number keep run_script timeout);

my ($part, $steps, $cases, $good) = (undef, 0, 0, 1);

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

# How long a call may wait, in nanoseconds.
sub timeout {
    my ($step) = @_;
    my $timeout = $step->{timeout} // 0;
    return $timeout eq 'forever' ? $Libfp::LIBFP_FOREVER : $timeout;
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

# ---- calls of all parts: each gets the run, the step and the handle ----

# Calls Libfp::fp_<prefix>_<name>.
sub fp {
    my ($name, @arguments) = @_;
    no strict 'refs';
    return &{"Libfp::fp_$part->{prefix}_$name"}(@arguments);
}

# A new handle under the step's name.
sub keep {
    my ($run, $handle) = @_;
    $run->{handles}{ $run->{name} } = $handle;
    return 0;
}

sub lookup {
    my ($run, $step) = @_;
    return keep($run, fp('lookup', $step->{name}));
}

sub ends {
    my ($run, $step, $handle) = @_;
    my $got = fp($step->{do}, $handle);
    delete $run->{handles}{ $run->{name} };
    return $got;
}

sub stats {
    my ($run, $step, $handle) = @_;
    my $stats = "Libfp::fp_$part->{prefix}_stats"->new;
    my $got   = fp('get_stats', $handle, $stats);
    compare_fields($step, $stats);
    return $got;
}

sub plain {
    my ($run, $step, $handle) = @_;
    return scalar fp($step->{do}, $handle);
}

my %calls = (lookup => \&lookup, destroy => \&ends, unref => \&ends, stats => \&stats);

# ---- steps and cases ----

sub run_step {
    my ($run, $step) = @_;
    my $name = $step->{do};
    my $keys = $part->{keys}{$name} // die "the script: $name is no call\n";
    my %known = map { $_ => 1 } qw(do expect only why), $part->{key}, split ' ', $keys;
    for (keys %$step) { die "the script: $name has no $_\n" if !$known{$_} }

    $run->{name} = $step->{ $part->{key} } // $part->{otherwise};
    my $handle = $run->{handles}{ $run->{name} };
    die "the script: no $part->{key} $run->{name}\n"
        if !$handle && $name !~ /^(create|lookup)$/ && $name !~ $part->{without};
    $part->{prepare}->($run, $handle);
    my $call = $part->{calls}{$name} // $calls{$name} // \&plain;
    my $got  = eval { $call->($run, $step, $handle) };
    if (my $error = $@) {
        die $error if ref $error ne 'Libfp::Error';
        $got = '-' . $error->name;
    }
    $got = 'positive' if ($step->{expect} // '') eq 'positive' && $got =~ /^[1-9]/;
    compare($step->{expect}, $got);
    return $part->{check}->($run, $step, $run->{handles}{ $run->{name} });
}

sub for_us {
    my ($object) = @_;
    return !$object->{only} || grep { $_ eq 'perl' } @{ $object->{only} };
}

# Tells the step that was wrong, counted from 1, the end as one more; or 0.
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
    return 0 if !%{ $run->{handles} // {} } && !$part->{open}->($run);
    print STDERR "$case->{case} ends, but something is open\n" if !$quiet;
    return $n + 1;
}

# A driver's main. What a part brings: its name; the key of a step for its handle and the
# handle without it; the keys that each call knows besides; the calls that are not plain;
# prepare, which gets the run and the handle, if there is one, before the call; and check,
# of what is not the result. Besides, if it has them: the prefix of its functions, if that
# is not its name, calls without a handle, and open, which tells whether something else is
# open at the end. Returns the exit status.
sub run_script {
    ($part, my @arguments) = @_;
    $part->{prefix}  //= $part->{name};
    $part->{without} //= qr/^$/;
    $part->{open} //= sub { 0 };
    my $planted = $arguments[0] eq '--planted' && shift @arguments;
    open my $file, '<', $arguments[0] or die "$arguments[0]: $!\n";
    my $script = JSON::PP->new->utf8->decode(do { local $/; <$file> });
    die "the script: it is for another part\n" if $script->{part} ne $part->{name};
    for my $case (grep { for_us($_) } @{ $script->{cases} }) {
        $cases++;
        for my $sides (@{ $case->{kinds} // [['mt', 'mt']] }) {
            my $wrong = run_case($case, $sides, $planted);
            my $last  = $planted ? @{ $case->{steps} } + ($case->{mistake} ? 1 : 0) : 0;
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
