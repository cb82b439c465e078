/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Perl brings to libfp.i: Libfp::Error, and packed strings as tables of elements:
 * pack("Q*", ...) for the default of 8 bytes. What comes out follows the count:
 *
 *     my ($got, $bytes) = Libfp::fp_ring_dequeue_burst($ring, 256);
 */
%{
/* Leaves the error of a status in $@. */
static void fp_perl_error(pTHX_ int status)
{
	HV *fields = newHV();
	SV *error = sv_2mortal(newRV_noinc((SV *)fields));

	(void)hv_stores(fields, "errno", newSViv(-status));
	(void)hv_stores(fields, "message", newSVpv(fp_strerror(status), 0));
	sv_bless(error, gv_stashpv("Libfp::Error", GV_ADD));
	sv_setsv(get_sv("@", GV_ADD), error);
}

/* A string of room for at most n elements; the ring never gives more than it holds. */
static SV *fp_perl_room(pTHX_ uint64_t n, uint64_t most, uint64_t elem_size)
{
	STRLEN bytes = (STRLEN)((n < most ? n : most) * elem_size);
	SV *room = sv_2mortal(newSV(bytes + 1));

	SvPOK_only(room);
	return room;
}

static SV *fp_perl_cut(SV *room, int64_t n, uint64_t elem_size)
{
	STRLEN bytes = n > 0 ? (STRLEN)n * elem_size : 0;

	SvCUR_set(room, bytes);
	*SvEND(room) = '\0';
	return room;
}
%}

%define FP_FAIL(STATUS)
{
	fp_perl_error(aTHX_ STATUS);
	SWIG_fail;
}
%enddef
%define FP_FAIL_LAST(STATUS)
{
	fp_perl_error(aTHX_ STATUS);
	SWIG_croak_null();
}
%enddef

/* ---- packed strings in ---- */

%define FP_PERL_BYTES
	SvGETMAGIC($input);
	if (!SvOK($input) || SvROK($input) || (SvUTF8($input) && !sv_utf8_downgrade($input, 1)))
		FP_FAIL(-EINVAL)
	$1 = ($1_ltype)SvPVbyte($input, bytes);
%enddef

%typemap(in) (const void *elems, uint32_t n) (STRLEN bytes) {
	FP_PERL_BYTES
	$2 = 0;
}
%typemap(check) (const void *elems, uint32_t n) {
	uint64_t size = FP_SWIG_ELEM_SIZE(arg1, $1);

	if (!size || bytes$argnum % size || bytes$argnum / size > UINT32_MAX)
		FP_FAIL(-EINVAL)
	$2 = (uint32_t)(bytes$argnum / size);
}
%typemap(in) const void *elem (STRLEN bytes) {
	FP_PERL_BYTES
}
%typemap(check) const void *elem {
	if (bytes$argnum != FP_SWIG_ELEM_SIZE(arg1, $1))
		FP_FAIL(-EINVAL)
}

%typemap(argout) const void *elem, (const void *elems, uint32_t n) ""

/* ---- packed strings and numbers out, behind the count ---- */

%typemap(in) (void *elems, uint32_t n) (SV *room) {
	unsigned long n;

	if (!SWIG_IsOK(SWIG_AsVal(unsigned long)($input, &n)) || n > UINT32_MAX)
		FP_FAIL(-EINVAL)
	$2 = (uint32_t)n;
	$1 = NULL;
}
%typemap(check) (void *elems, uint32_t n) {
	room$argnum = fp_perl_room(aTHX_ $2, FP_SWIG_MOST(arg1, $1), FP_SWIG_ELEM_SIZE(arg1, $1));
	$1 = ($1_ltype)SvPVX(room$argnum);
}
%typemap(argout) (void *elems, uint32_t n) {
	%append_output(fp_perl_cut(room$argnum, result, FP_SWIG_ELEM_SIZE(arg1, $1)));
}
/* A result for each id: the table in front. */
%typemap(in, numinputs=0) (int32_t *results, uint32_t n_results) (SV *room) {
	room = NULL;
	$1 = NULL;
}
%typemap(check) (int32_t *results, uint32_t n_results) {
	$2 = arg3;
	room$argnum = fp_perl_room(aTHX_ $2, $2, sizeof(*$1));
	$1 = ($1_ltype)SvPVX(room$argnum);
}
%typemap(argout) (int32_t *results, uint32_t n_results) {
	%append_output(fp_perl_cut(room$argnum, result < 0 ? 0 : arg3, sizeof(*$1)));
}
%typemap(in, numinputs=0) void *elem (SV *room) {
	room = NULL;
	$1 = NULL;
}
%typemap(check) void *elem {
	room$argnum = fp_perl_room(aTHX_ 1, 1, FP_SWIG_ELEM_SIZE(arg1, $1));
	$1 = ($1_ltype)SvPVX(room$argnum);
}
%typemap(argout) void *elem {
	%append_output(fp_perl_cut(room$argnum, result, FP_SWIG_ELEM_SIZE(arg1, $1)));
}
%typemap(in, numinputs=0) uint64_t *elem (uint64_t word) {
	word = 0;
	$1 = &word;
}
%typemap(argout) uint64_t *elem {
	%append_output(result == 1 ? sv_2mortal(newSVuv(*$1)) : &PL_sv_undef);
}

%perlcode %{
package Libfp::Error;

use overload '""' => sub { $_[0]{message} }, bool => sub { 1 }, fallback => 1;

# The errno value, positive, and its name, for example "EPIPE".
sub errno { return $_[0]{errno} }
sub name  { return (split /:/, $_[0]{message})[0] }

package Libfp;
%}
