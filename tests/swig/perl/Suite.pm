# SPDX-License-Identifier: BSD-2-Clause
#
# What the suites of all parts share.

package Suite;

use strict;
use warnings;

use Exporter 'import';
use Test::More;

our @EXPORT_OK = qw(fails);

# The call must fail with that errno.
sub fails {
    my ($errno, $call, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $got   = eval { $call->() };
    my $error = $@;
    is(ref $error ? $error->name : $error || "no error, but $got", $errno, $name // $errno);
    return;
}

1;
