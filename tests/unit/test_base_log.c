/* SPDX-License-Identifier: BSD-2-Clause */
/* Log handler: who gets which line, and what a wrong handler does not break. */
#include <errno.h>

#include <libfp/base.h>

#include "base/log.h"
#include "check.h"

struct seen {
	unsigned lines;
	uint32_t level;
	char text[1024];
};

static void keep(uint32_t level, const char *line, void *user)
{
	struct seen *s = user;

	s->lines++;
	s->level = level;
	snprintf(s->text, sizeof(s->text), "%s", line);
}

static void default_is_silence(void)
{
	struct seen s = { 0 };
	void *user = &s;

	fpi_log(LIBFP_LOG_ERROR, "nobody hears this");
	CHECK(!fp_log_set_handler(NULL, NULL, &user));
	CHECK(!user);
}

static void handler_gets_level_line_and_user(void)
{
	struct seen s = { 0 };

	fp_log_set_handler(keep, &s, NULL);
	fpi_log(LIBFP_LOG_ERROR, "ring %s: %d threads", "rx", 2);
	CHECK_EQ(s.lines, 1);
	CHECK_EQ(s.level, LIBFP_LOG_ERROR);
	CHECK(!strcmp(s.text, "ring rx: 2 threads"));
	fp_log_set_handler(NULL, NULL, NULL);
	fpi_log(LIBFP_LOG_ERROR, "too late");
	CHECK_EQ(s.lines, 1);
}

static void set_handler_returns_the_previous_pair(void)
{
	struct seen a = { 0 }, b = { 0 };
	void *user = NULL;

	CHECK(!fp_log_set_handler(keep, &a, &user));
	CHECK(!user);
	CHECK(fp_log_set_handler(keep, &b, &user) == keep);
	CHECK(user == &a);
	fpi_log(LIBFP_LOG_INFO, "for b");
	CHECK_EQ(a.lines, 0);
	CHECK_EQ(b.lines, 1);
	CHECK(fp_log_set_handler(NULL, NULL, &user) == keep);
	CHECK(user == &b);
}

static void refuse_logs_info_and_returns_the_code(void)
{
	struct seen s = { 0 };

	CHECK_EQ(fpi_refuse(-EINVAL, "silent"), -EINVAL);
	fp_log_set_handler(keep, &s, NULL);
	CHECK_EQ(fpi_refuse(-ENOSPC, "capacity %u", 7u), -ENOSPC);
	fp_log_set_handler(NULL, NULL, NULL);
	CHECK_EQ(s.lines, 1);
	CHECK_EQ(s.level, LIBFP_LOG_INFO);
	CHECK(!strcmp(s.text, "capacity 7"));
}

static void a_line_is_one_line_whatever_is_in_a_name(void)
{
	struct seen s = { 0 };

	fp_log_set_handler(keep, &s, NULL);
	fpi_log(LIBFP_LOG_INFO, "name '%s'", "a\nb\tc\x1b[31m\x7f\xc3\xa4");
	fp_log_set_handler(NULL, NULL, NULL);
	CHECK(!strcmp(s.text, "name 'a?b?c?[31m?\xc3\xa4'"));
}

static void a_long_line_is_cut(void)
{
	struct seen s = { 0 };
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	fp_log_set_handler(keep, &s, NULL);
	fpi_log(LIBFP_LOG_INFO, "%s", text);
	fp_log_set_handler(NULL, NULL, NULL);
	CHECK_EQ(s.lines, 1);
	CHECK_EQ(strlen(s.text), 511);
}

static void errno_is_left_alone(void)
{
	struct seen s = { 0 };

	fp_log_set_handler(keep, &s, NULL);
	errno = 77;
	fpi_log(LIBFP_LOG_INFO, "%d", 1);
	CHECK_EQ(errno, 77);
	fp_log_set_handler(NULL, NULL, NULL);
	CHECK_EQ(errno, 77);
}

/* A handler that breaks the rule "must not call libfp". */
static void misbehave(uint32_t level, const char *line, void *user)
{
	keep(level, line, user);
	fpi_log(level, "from inside");
	fp_log_set_handler(keep, user, NULL);
}

static void a_handler_that_logs_or_replaces_itself_does_not_hang(void)
{
	struct seen s = { 0 };

	fp_log_set_handler(misbehave, &s, NULL);
	fpi_log(LIBFP_LOG_INFO, "outer");
	CHECK_EQ(s.lines, 1);
	CHECK(!strcmp(s.text, "outer"));
	fpi_log(LIBFP_LOG_INFO, "next");
	CHECK_EQ(s.lines, 2);
	CHECK(fp_log_set_handler(NULL, NULL, NULL) == keep);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(default_is_silence),
		FPT_CASE(handler_gets_level_line_and_user),
		FPT_CASE(set_handler_returns_the_previous_pair),
		FPT_CASE(refuse_logs_info_and_returns_the_code),
		FPT_CASE(a_line_is_one_line_whatever_is_in_a_name),
		FPT_CASE(a_long_line_is_cut),
		FPT_CASE(errno_is_left_alone),
		FPT_CASE(a_handler_that_logs_or_replaces_itself_does_not_hang),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
