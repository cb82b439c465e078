/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Order sites; see sites.h.
 */
#include "sites.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

#define SITES 512

int model_fence_form;
int model_locks_wait = 1;

static struct {
	char name[64];
	int order;
} sites[SITES];
static int n_sites; /* ids are 1 to n_sites */
static int mutant_id;
static int mutant_order;

static int site_id(const char *name)
{
	for (int i = 0; i < n_sites; i++)
		if (!strcmp(sites[i].name, name))
			return i + 1;
	if (n_sites == SITES) {
		fprintf(stderr, "more than %d order sites\n", SITES);
		exit(2);
	}
	if (strlen(name) >= sizeof(sites[0].name)) {
		fprintf(stderr, "site name too long: %s\n", name);
		exit(2);
	}
	strcpy(sites[n_sites].name, name);
	sites[n_sites].order = -1; /* not executed yet */
	return ++n_sites;
}

int model_order(int *id, const char *name, int order)
{
	if (!*id) {
		*id = site_id(name);
		if (sites[*id - 1].order >= 0 && sites[*id - 1].order != order) {
			fprintf(stderr, "site %s has two orders\n", name);
			exit(2);
		}
		sites[*id - 1].order = order;
	}
	return *id == mutant_id ? mutant_order : order;
}

void model_mutant_set(const char *name, int order)
{
	mutant_id = name ? site_id(name) : 0;
	mutant_order = order;
}

int model_weaker(int order, int weaker[3])
{
	int n = 0;

	if (order != EX_RELAXED)
		weaker[n++] = EX_RELAXED;
	if (order == EX_ACQ_REL) {
		weaker[n++] = EX_ACQUIRE;
		weaker[n++] = EX_RELEASE;
	} else if (order == EX_SEQ_CST) {
		weaker[n++] = EX_ACQ_REL;
	}
	return n;
}

const char *model_order_name(int order)
{
	static const char *const names[] = { "relaxed", "acquire", "release", "acq_rel",
					     "seq_cst" };

	return names[order];
}
