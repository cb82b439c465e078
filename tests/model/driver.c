/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios and mutants of one suite; see driver.h for the commands.
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sites.h"

enum { BYTES, FENCE, FORMS };

static const char *const form_names[FORMS] = { "bytes", "fence" };
static const struct model_suite *suite;

struct mutant {
	char site[64];
	int order; /* weakened to this */
	int form;
	char scenario[64]; /* that notices, "" if none; "*": redundant */
};

#define MUTANTS 1024
static struct mutant mutants[MUTANTS];
static int n_mutants;

static int proof(void)
{
	const char *scale = getenv("LIBFP_TEST_SCALE");

	return scale && !strcmp(scale, "proof");
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int usage(void)
{
	fputs("scenarios [NAME...] | mutants CAUGHT REDUNDANT SOURCE... |\n"
	      "learn CAUGHT REDUNDANT SOURCE... | trace SCENARIO SITE ORDER FORM\n",
	      stderr);
	return 2;
}

static int find_scenario(const char *name)
{
	for (int i = 0; i < suite->scenarios; i++)
		if (!strcmp(suite->name(i), name))
			return i;
	return -1;
}

static int find_order(const char *name)
{
	for (int o = EX_RELAXED; o <= EX_SEQ_CST; o++)
		if (!strcmp(model_order_name(o), name))
			return o;
	return -1;
}

static int find_form(const char *name)
{
	for (int f = 0; f < FORMS; f++)
		if (!strcmp(form_names[f], name))
			return f;
	return -1;
}

/* ---- exploring ---- */

static int explore(int scenario, int form, uint64_t limit, struct ex_result *res)
{
	struct ex_test test;

	model_fence_form = form;
	suite->prepare(scenario, &test);
	return ex_explore(&test, limit, res);
}

/* Whether the scenario notices the mutant, within the limit. */
static int notices(int scenario, const struct mutant *m, uint64_t limit,
		   struct ex_result *res)
{
	int failed;

	model_mutant_set(m->site, m->order);
	failed = explore(scenario, m->form, limit, res);
	model_mutant_set(NULL, 0);
	return failed;
}

#define ENDLESS_LIMIT 5000000 /* executions: 1 to 30 minutes */

static const char *verdict(int bad, const struct ex_result *res)
{
	if (bad)
		return "FAILED";
	return res->cut ? "cut" : "ok";
}

static int scenarios(int argc, char **argv)
{
	int failed = 0, ran = 0;

	for (int i = 0; i < suite->scenarios; i++) {
		int wanted = argc == 0 && (!suite->big(i) || proof());
		uint64_t limit = argc == 0 && suite->big(i) == MODEL_ENDLESS ?
					 ENDLESS_LIMIT :
					 EX_NO_LIMIT;

		for (int a = 0; a < argc; a++)
			wanted |= !strcmp(argv[a], suite->name(i));
		for (int form = 0; wanted && form < suite->forms; form++) {
			double start = now();
			struct ex_result res;
			int bad = explore(i, form, limit, &res);

			printf("%-6s %-24s %s  %8llu executions, %8llu pruned, %6.2f s\n",
			       verdict(bad, &res), suite->name(i), form_names[form],
			       (unsigned long long)res.complete,
			       (unsigned long long)res.pruned, now() - start);
			if (bad)
				fputs(ex_trace(), stdout);
			fflush(stdout);
			failed |= bad;
			ran++;
		}
	}
	if (!ran)
		return usage();
	return failed;
}

/* ---- the mutants that the sources ask for ---- */

static struct mutant *find_mutant(const char *site, int order, int form)
{
	for (int i = 0; i < n_mutants; i++)
		if (!strcmp(mutants[i].site, site) && mutants[i].order == order &&
		    mutants[i].form == form)
			return &mutants[i];
	return NULL;
}

static void add_mutants(const char *site, const char *order_name)
{
	static const char *const source_names[] = { "RELAXED", "ACQUIRE", "RELEASE",
						    "ACQ_REL", "SEQ_CST" };
	int order = EX_RELAXED, weaker[3], n;

	while (order <= EX_SEQ_CST && strcmp(order_name, source_names[order]))
		order++;
	if (order > EX_SEQ_CST) {
		fprintf(stderr, "site %s: unknown order %s\n", site, order_name);
		exit(2);
	}
	n = model_weaker(order, weaker);
	for (int i = 0; i < n; i++)
		for (int form = 0; form < suite->forms; form++) {
			struct mutant *m = &mutants[n_mutants];

			if (find_mutant(site, weaker[i], form))
				continue;
			if (n_mutants++ == MUTANTS) {
				fputs("too many mutants\n", stderr);
				exit(2);
			}
			snprintf(m->site, sizeof(m->site), "%s", site);
			m->order = weaker[i];
			m->form = form;
		}
}

/* Orders beside FPI_MO would escape: only relaxed needs no name. */
static void check_named(const char *path, const char *text)
{
	static const char *const orders[] = { "FPI_ACQUIRE", "FPI_RELEASE", "FPI_ACQ_REL",
					      "FPI_SEQ_CST" };

	for (int i = 0; i < 4; i++)
		if (strstr(text, orders[i])) {
			fprintf(stderr, "%s: %s outside FPI_MO\n", path, orders[i]);
			exit(2);
		}
}

/* Every "FPI_MO(site, ORDER)" of a source file. */
static void scan_source(const char *path)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "r");
	const char *p = text;
	size_t n;

	if (!f) {
		perror(path);
		exit(2);
	}
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	check_named(path, text);
	while ((p = strstr(p, "FPI_MO(")) != NULL) {
		char site[64], order[16];

		p += strlen("FPI_MO(");
		if (sscanf(p, " %63[A-Za-z0-9_] , %15[A-Z_] )", site, order) == 2)
			add_mutants(site, order);
	}
}

/*
 * A line of CAUGHT: SITE ORDER FORM SCENARIO. A line of REDUNDANT: SITE ORDER
 * FORM REASON…, where FORM may be "both". Returns how many lines are wrong.
 */
static int read_verdicts(const char *path, int redundant)
{
	char line[512], site[64], order[16], form[16], rest[256];
	FILE *f = fopen(path, "r");
	int wrong = 0;

	if (!f && redundant && !strcmp(path, "-"))
		return 0;
	if (!f) {
		perror(path);
		exit(2);
	}
	while (fgets(line, sizeof(line), f)) {
		int both, known = 0;

		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%63s %15s %15s %255[^\n]", site, order, form, rest) !=
		    4) {
			printf("%s: cannot read: %s", path, line);
			wrong++;
			continue;
		}
		both = redundant && !strcmp(form, "both");
		for (int i = 0; i < FORMS; i++) {
			struct mutant *m = find_mutant(site, find_order(order), i);

			if (!m || (!both && i != find_form(form)))
				continue;
			known = 1;
			if (m->scenario[0]) {
				printf("%s: twice: %s", path, line);
				wrong++;
			}
			snprintf(m->scenario, sizeof(m->scenario), "%.63s",
				 redundant ? "*" : rest);
		}
		if (!known) {
			printf("%s: no such order in the sources: %s", path, line);
			wrong++;
		}
	}
	fclose(f);
	return wrong;
}

/* ---- commands on mutants ---- */

/*
 * No scenario may notice a redundant order. In `make test` a part of each is
 * explored, since this is the whole work again for each such order.
 */
#define REDUNDANT_LIMIT 1000

static int check_redundant(const struct mutant *m)
{
	struct ex_result res;

	for (int i = 0; i < suite->scenarios; i++)
		if (!suite->big(i) &&
		    notices(i, m, proof() ? EX_NO_LIMIT : REDUNDANT_LIMIT, &res)) {
			printf("FAILED %-18s %s %s: said to be redundant, but %s notices\n",
			       m->site, model_order_name(m->order), form_names[m->form],
			       suite->name(i));
			return 1;
		}
	printf("ok     %-18s %s %s: redundant\n", m->site, model_order_name(m->order),
	       form_names[m->form]);
	return 0;
}

static int check_caught(const struct mutant *m)
{
	int scenario = find_scenario(m->scenario);
	struct ex_result res = { 0 };

	if (scenario < 0 || !notices(scenario, m, EX_NO_LIMIT, &res)) {
		printf("FAILED %-18s %s %s: not noticed by %s (learn again?)\n", m->site,
		       model_order_name(m->order), form_names[m->form], m->scenario);
		return 1;
	}
	printf("ok     %-18s %s %s: %s, execution %llu", m->site,
	       model_order_name(m->order), form_names[m->form], m->scenario,
	       (unsigned long long)res.complete);
	if (proof()) {
		int by = 0;

		for (int i = 0; i < suite->scenarios; i++)
			by += !suite->big(i) && notices(i, m, EX_NO_LIMIT, &res);
		printf("; %d scenarios in all", by);
	}
	putchar('\n');
	fflush(stdout);
	return 0;
}

static int mutants_command(int argc, char **argv)
{
	int failed, caught = 0, redundant = 0;

	if (argc < 3)
		return usage();
	for (int i = 2; i < argc; i++)
		scan_source(argv[i]);
	failed = read_verdicts(argv[0], 0) + read_verdicts(argv[1], 1);
	for (struct mutant *m = mutants; m < mutants + n_mutants; m++) {
		if (!m->scenario[0]) {
			printf("FAILED %s %s %s: neither caught nor redundant\n", m->site,
			       model_order_name(m->order), form_names[m->form]);
			failed++;
		} else if (!strcmp(m->scenario, "*")) {
			redundant++;
			failed += check_redundant(m);
		} else {
			caught++;
			failed += check_caught(m);
		}
	}
	printf("%d weakened orders: %d noticed, %d redundant, %d failed\n", n_mutants,
	       caught, redundant, failed);
	return failed != 0;
}

/* The first scenario that notices, tried with growing limits: cheap ones first. */
static int learn_one(const struct mutant *m)
{
	static const uint64_t limits[] = { 300, 30000, EX_NO_LIMIT };
	struct ex_result res;

	for (unsigned l = 0; l < sizeof(limits) / sizeof(limits[0]); l++)
		for (int i = 0; i < suite->scenarios; i++)
			if (!suite->big(i) && notices(i, m, limits[l], &res))
				return i;
	return -1;
}

static int learn(int argc, char **argv)
{
	int missed = 0;
	FILE *f;

	if (argc < 3)
		return usage();
	for (int i = 2; i < argc; i++)
		scan_source(argv[i]);
	read_verdicts(argv[1], 1);
	f = fopen(argv[0], "w");
	if (!f) {
		perror(argv[0]);
		return 2;
	}
	fputs("# Which scenario notices that an order is weakened: SITE ORDER FORM SCENARIO.\n"
	      "# Written by `learn` (see README.md).\n",
	      f);
	for (struct mutant *m = mutants; m < mutants + n_mutants; m++) {
		int i;

		if (m->scenario[0])
			continue;
		i = learn_one(m);
		if (i < 0) {
			printf("nothing notices %s %s %s\n", m->site,
			       model_order_name(m->order), form_names[m->form]);
			missed++;
		} else {
			fprintf(f, "%s %s %s %s\n", m->site, model_order_name(m->order),
				form_names[m->form], suite->name(i));
		}
	}
	return fclose(f) || missed;
}

static int trace_command(int argc, char **argv)
{
	struct mutant m = { .order = -1 };
	struct ex_result res;
	int scenario;

	if (argc != 4)
		return usage();
	scenario = find_scenario(argv[0]);
	snprintf(m.site, sizeof(m.site), "%s", argv[1]);
	m.order = find_order(argv[2]);
	m.form = find_form(argv[3]);
	if (scenario < 0 || m.order < 0 || m.form < 0)
		return usage();
	if (!notices(scenario, &m, EX_NO_LIMIT, &res)) {
		printf("clean, %llu executions\n", (unsigned long long)res.complete);
		return 0;
	}
	fputs(ex_trace(), stdout);
	return 1;
}

int model_main(int argc, char **argv, const struct model_suite *s)
{
	suite = s;
	if (argc < 2)
		return usage();
	if (!strcmp(argv[1], "scenarios"))
		return scenarios(argc - 2, argv + 2);
	if (!strcmp(argv[1], "mutants"))
		return mutants_command(argc - 2, argv + 2);
	if (!strcmp(argv[1], "learn"))
		return learn(argc - 2, argv + 2);
	if (!strcmp(argv[1], "trace"))
		return trace_command(argc - 2, argv + 2);
	return usage();
}
