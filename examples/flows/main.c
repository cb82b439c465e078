/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fp-flows: the flow table of a packet capture, made by worker threads that are
 * fed through libfp rings. This file is the command line and the exit codes:
 *
 *   0  everything read and written
 *   1  the capture is cut or damaged; what could be read was written
 *   2  nothing usable: bad usage, unreadable input, unknown link type, disk full
 *
 * Read next: pipeline.c (threads, rings, pool), parse.c (frames to flows).
 */
#include <errno.h>
#include <getopt.h>
#include <libfp/base.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "outlet.h"
#include "pipeline.h"
#include "report.h"

#define EXIT_OK 0
#define EXIT_DAMAGED 1
#define EXIT_NOTHING 2

#define DEFAULT_WORKERS_MAX 8
#define TOP_MAX 1000000
#define SECONDS_MAX 1000000000u
#define NS_PER_SECOND 1000000000u

struct options {
	const char *input;
	const char *csv;
	const char *echo; /* NULL: none */
	unsigned int workers;
	unsigned int ring;
	unsigned int top;
	uint64_t idle_timeout_ns; /* 0: flows do not age */
	int quiet;
};

static const char usage_text[] =
	"usage: fp-flows [options] FILE|-\n"
	"Writes the flow table of a capture (pcap or pcapng; - is standard input).\n"
	"\n"
	"  -w, --workers N   worker threads, 1 to 64 (default: cores - 1, 1 to 8)\n"
	"  -o, --output FILE the flow table (default: flows.csv; -: standard output)\n"
	"      --echo FILE   also write the packets again, in input order, as pcap\n"
	"                    (-: standard output)\n"
	"      --top N       flows in the table that is printed (default: 10; 0: none)\n"
	"      --idle-timeout SECONDS  a flow without a packet for so long has ended\n"
	"                    (default: 60, for example 0.5; 0: none ends before the capture)\n"
	"      --ring N      slots of each ring, 1 to 65536 (default: 1024)\n"
	"  -q, --quiet       no summary and no progress line\n"
	"      --version     the version of the library\n"
	"  -h, --help        this text\n"
	"\n"
	"Exit code: 0; 1: the capture is cut or damaged and what could be read was\n"
	"written; 2: anything else.\n";

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list args;

	fputs("fp-flows: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static int is_stdio(const char *path)
{
	return !strcmp(path, "-");
}

/* ---- options ---- */

static unsigned int default_workers(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores < 2)
		return 1;
	if (cores > DEFAULT_WORKERS_MAX)
		return DEFAULT_WORKERS_MAX;
	return (unsigned int)cores - 1;
}

static int parse_number(const char *option, const char *text, unsigned int min,
			unsigned int max, unsigned int *out)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < min || value > max) {
		complain("%s wants a number from %u to %u, not \"%s\"", option, min, max,
			 text);
		return -1;
	}
	*out = (unsigned int)value;
	return 0;
}

/* Seconds with up to nine decimals, as nanoseconds. */
static int parse_seconds(const char *option, const char *text, uint64_t *out)
{
	uint64_t seconds = 0, fraction = 0, unit = NS_PER_SECOND;
	const char *c = text;

	for (; *c >= '0' && *c <= '9' && seconds <= SECONDS_MAX; c++)
		seconds = seconds * 10 + (uint64_t)(*c - '0');
	if (c > text && *c == '.')
		for (c++; *c >= '0' && *c <= '9' && unit > 1; c++) {
			unit /= 10;
			fraction += unit * (uint64_t)(*c - '0');
		}
	if (c == text || *c || seconds > SECONDS_MAX) {
		complain("%s wants seconds from 0 to %u, not \"%s\"", option, SECONDS_MAX,
			 text);
		return -1;
	}
	*out = seconds * NS_PER_SECOND + fraction;
	return 0;
}

/* -1: go on; otherwise the exit code. */
static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_ECHO = 256, OPT_TOP, OPT_IDLE, OPT_RING, OPT_VERSION };
	static const struct option longs[] = {
		{ "workers", required_argument, NULL, 'w' },
		{ "output", required_argument, NULL, 'o' },
		{ "echo", required_argument, NULL, OPT_ECHO },
		{ "top", required_argument, NULL, OPT_TOP },
		{ "idle-timeout", required_argument, NULL, OPT_IDLE },
		{ "ring", required_argument, NULL, OPT_RING },
		{ "quiet", no_argument, NULL, 'q' },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "w:o:qh", longs, NULL)) != -1) {
		switch (c) {
		case 'w':
			rc = parse_number("--workers", optarg, 1, PIPELINE_WORKERS_MAX,
					  &o->workers);
			break;
		case 'o':
			o->csv = optarg;
			break;
		case OPT_ECHO:
			o->echo = optarg;
			break;
		case OPT_TOP:
			rc = parse_number("--top", optarg, 0, TOP_MAX, &o->top);
			break;
		case OPT_IDLE:
			rc = parse_seconds("--idle-timeout", optarg, &o->idle_timeout_ns);
			break;
		case OPT_RING:
			rc = parse_number("--ring", optarg, 1, PIPELINE_RING_MAX,
					  &o->ring);
			break;
		case 'q':
			o->quiet = 1;
			break;
		case OPT_VERSION:
			printf("fp-flows %s\n", fp_version_string());
			return fflush(stdout) ? EXIT_NOTHING : EXIT_OK;
		case 'h':
			fputs(usage_text, stdout);
			return fflush(stdout) ? EXIT_NOTHING : EXIT_OK;
		default:
			rc = -1;
		}
	}
	if (!rc && optind != argc - 1) {
		complain("give one capture file, or - for standard input");
		rc = -1;
	}
	if (rc) {
		fputs("Try \"fp-flows --help\".\n", stderr);
		return EXIT_NOTHING;
	}
	o->input = argv[optind];
	if (is_stdio(o->csv) && o->echo && is_stdio(o->echo)) {
		complain("only one output can be standard output");
		return EXIT_NOTHING;
	}
	return -1;
}

/* True if both are the same regular file. "-" is no file. */
static int same_file(const char *x, const char *y)
{
	struct stat sx, sy;

	return x && y && !is_stdio(x) && !is_stdio(y) && !stat(x, &sx) && !stat(y, &sy) &&
	       S_ISREG(sx.st_mode) && sx.st_dev == sy.st_dev && sx.st_ino == sy.st_ino;
}

/* ---- the run ---- */

struct job {
	struct options options;
	struct capture *capture;
	struct echo *echo;
	FILE *csv;
	struct outlet outlet;
	int has_outlet;
};

static FILE *open_csv(const char *path)
{
	return is_stdio(path) ? stdout : fopen(path, "w");
}

/* Opens everything before anything is read, so that a bad path shows at once. */
static int open_files(struct job *j)
{
	const struct options *o = &j->options;
	char error[CAPTURE_ERROR];

	j->capture = capture_open(o->input, error);
	if (!j->capture) {
		complain("%s: %s", o->input, error);
		return -1;
	}
	if (!frame_link_supported(capture_link_type(j->capture))) {
		complain("%s: link type %s (%d) is not supported", o->input,
			 capture_link_name(j->capture), capture_link_type(j->capture));
		return -1;
	}
	if (same_file(o->input, o->csv) || same_file(o->input, o->echo)) {
		complain("%s: an output must not be the input", o->input);
		return -1;
	}
	j->csv = open_csv(o->csv);
	if (!j->csv) {
		complain("%s: %s", o->csv, strerror(errno));
		return -1;
	}
	if (same_file(o->csv, o->echo)) {
		complain("%s: both outputs are the same file", o->csv);
		return -1;
	}
	if (outlet_init(&j->outlet, j->csv, o->csv, o->workers, o->quiet ? 0 : o->top)) {
		complain("out of memory");
		return -1;
	}
	j->has_outlet = 1;
	if (o->echo) {
		j->echo = echo_open(j->capture, o->echo, error);
		if (!j->echo) {
			complain("%s: %s", o->echo, error);
			return -1;
		}
	}
	return 0;
}

static int finish_echo(struct job *j)
{
	int rc = echo_close(j->echo);

	j->echo = NULL;
	if (rc)
		complain("%s: %s", j->options.echo, strerror(rc));
	return rc ? -1 : 0;
}

static int finish_csv(struct job *j, struct pipeline_result *result)
{
	int rc = outlet_finish(&j->outlet, result);

	if (j->csv != stdout && fclose(j->csv) && !rc)
		rc = errno;
	j->csv = NULL;
	if (rc)
		complain("%s: %s", j->options.csv, strerror(rc));
	return rc ? -1 : 0;
}

/* A summary that nobody gets to see is a failure like any other lost output. */
static int write_summary(FILE *out, const struct pipeline_result *result,
			 const struct report_names *names, struct outlet *outlet)
{
	top_sort(&outlet->top);
	report_summary(out, result, names, outlet);
	if (fflush(out) || ferror(out)) {
		complain("summary: %s", strerror(errno));
		return -1;
	}
	return 0;
}

static int write_results(struct job *j, struct pipeline_result *result)
{
	const struct options *o = &j->options;
	const struct report_names names = { o->input, o->csv, o->echo };
	int stdout_taken = is_stdio(o->csv) || (o->echo && is_stdio(o->echo));
	FILE *summary = stdout_taken ? stderr : stdout;
	int rc = finish_csv(j, result);

	if (!rc && !o->quiet)
		rc = write_summary(summary, result, &names, &j->outlet);
	return rc;
}

static int run(struct job *j)
{
	const struct pipeline_opts opts = {
		.workers = j->options.workers,
		.ring_capacity = j->options.ring,
		.idle_timeout_ns = j->options.idle_timeout_ns,
		.outlet = &j->outlet,
		.echo = j->echo,
		.progress = !j->options.quiet && isatty(STDERR_FILENO),
	};
	struct pipeline_result result;
	enum pipeline_status status = pipeline_run(j->capture, &opts, &result);
	int rc = EXIT_OK;

	if (status == PIPELINE_FAILED) {
		complain("%s", result.error);
		rc = EXIT_NOTHING;
	} else if (status == PIPELINE_DAMAGED) {
		complain("%s: %s (after %llu packets, which are in the results)",
			 j->options.input, result.error,
			 (unsigned long long)result.packets);
		rc = EXIT_DAMAGED;
	}
	if (rc != EXIT_NOTHING && j->echo && finish_echo(j))
		rc = EXIT_NOTHING;
	if (rc != EXIT_NOTHING && write_results(j, &result))
		rc = EXIT_NOTHING;
	pipeline_result_free(&result);
	return rc;
}

int main(int argc, char **argv)
{
	struct job job = {
		.options = {
			.csv = "flows.csv",
			.workers = default_workers(),
			.ring = 1024,
			.top = 10,
			.idle_timeout_ns = 60ull * NS_PER_SECOND,
		},
	};
	int rc = parse_options(argc, argv, &job.options);

	if (rc >= 0)
		return rc;
	rc = open_files(&job) ? EXIT_NOTHING : run(&job);
	if (job.echo)
		echo_close(job.echo);
	if (job.csv && job.csv != stdout)
		fclose(job.csv);
	if (job.has_outlet)
		outlet_free(&job.outlet);
	if (job.capture)
		capture_close(job.capture);
	return rc;
}
