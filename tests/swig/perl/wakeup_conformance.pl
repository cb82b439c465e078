#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Perl's driver of the wake-ups' conformance script.
#
#     wakeup_conformance.pl [--planted] wakeup.json

use strict;
use warnings;

use FindBin ();
use Libfp;
use lib $FindBin::Bin;
use Conformance qw(fp keep run_script timeout);

my %keys = map { $_ => '' } qw(destroy is_fenced signal interrupt fd is_readable arm clear);
%keys = (
    %keys,
    create  => 'fence',
    prepare => 'key',
    cancel  => 'key',
    wait    => 'key timeout',
    stats   => 'fields',
);

# ---- calls: each gets the run, the step and the wake-up ----

sub create {
    my ($run, $step) = @_;
    my $opts = Libfp::fp_wakeup_opts->new;
    $opts->{flags} = $step->{fence} ? $Libfp::LIBFP_WAKEUP_FENCE : 0;
    return keep($run, fp('create', $opts));
}

sub is_fenced {
    my ($run, $step, $wakeup) = @_;
    return fp('mode', $wakeup) == $Libfp::LIBFP_WAKEUP_MODE_FENCE ? 1 : 0;
}

sub prepare {
    my ($run, $step, $wakeup) = @_;
    $run->{keys}{ $step->{key} // 'k' } = fp('prepare', $wakeup);
    return 0;
}

sub uses_key {
    my ($run, $step, $wakeup) = @_;
    return fp($step->{do}, $wakeup, $run->{keys}{ $step->{key} // 'k' },
        $step->{do} eq 'wait' ? timeout($step) : ());
}

sub is_readable {
    my ($run, $step, $wakeup) = @_;
    vec(my $descriptors = '', fp('fd', $wakeup), 1) = 1;
    return scalar select $descriptors, undef, undef, 0;
}

exit run_script(
    {   name      => 'wakeup',
        key       => 'wakeup',
        otherwise => 'w',
        keys      => \%keys,
        calls     => {
            create      => \&create,
            is_fenced   => \&is_fenced,
            prepare     => \&prepare,
            cancel      => \&uses_key,
            wait        => \&uses_key,
            is_readable => \&is_readable,
        },
        prepare => sub { },
        check   => sub { },
    },
    @ARGV
);
