/* SPDX-License-Identifier: BSD-2-Clause */
/* Name registry: every state of an object against every call. */
#include <errno.h>

#include "base/registry.h"
#include "check.h"

void (*fpi_test_step)(const char *step);

struct thing {
	int number;
	struct fpi_name name;
};

/* A name of n bytes that ends in `last`. */
static const char *name_of(char text[300], size_t n, char last)
{
	memset(text, 'n', n);
	text[n - 1] = last;
	text[n] = 0;
	return text;
}

static void make(struct fpi_registry *reg, struct thing *t, const char *name)
{
	CHECK_EQ(fpi_registry_reserve(reg, &t->name, name, t), 0);
	fpi_registry_publish(&t->name);
}

static void published_objects_are_found(void)
{
	struct fpi_registry reg = FPI_REGISTRY_INIT;
	struct thing a = { .number = 1 }, b = { .number = 2 };
	void *found = NULL;

	make(&reg, &a, "a");
	make(&reg, &b, "b");
	CHECK_EQ(fpi_registry_lookup(&reg, "a", &found), 0);
	CHECK(found == &a);
	CHECK_EQ(fpi_registry_lookup(&reg, "b", &found), 0);
	CHECK(found == &b);
	CHECK(!strcmp(fpi_registry_name(&a.name), "a"));
}

static void unknown_names_are_not_found(void)
{
	struct fpi_registry reg = FPI_REGISTRY_INIT, other = FPI_REGISTRY_INIT;
	struct thing a;
	void *found = &reg;
	char text[300];

	make(&reg, &a, "a");
	CHECK_EQ(fpi_registry_lookup(&reg, "A", &found), -ENOENT);
	CHECK_EQ(fpi_registry_lookup(&reg, "", &found), -ENOENT);
	CHECK_EQ(fpi_registry_lookup(&reg, "aa", &found), -ENOENT);
	CHECK_EQ(fpi_registry_lookup(&other, "a", &found), -ENOENT);
	CHECK_EQ(fpi_registry_lookup(&reg, name_of(text, 299, 'x'), &found), -ENOENT);
	CHECK_EQ(fpi_registry_lookup(&reg, NULL, &found), -EINVAL);
	CHECK_EQ(fpi_registry_lookup(&reg, "a", NULL), -EINVAL);
	CHECK(found == &reg);
}

/* Rows M-31, R-21: neither a half-made object nor one whose create failed. */
static void half_made_objects_are_not_found_but_hold_their_name(void)
{
	struct fpi_registry reg = FPI_REGISTRY_INIT;
	struct thing a, b;
	void *found = NULL;

	CHECK_EQ(fpi_registry_reserve(&reg, &a.name, "a", &a), 0);
	CHECK_EQ(fpi_registry_lookup(&reg, "a", &found), -ENOENT);
	CHECK_EQ(fpi_registry_reserve(&reg, &b.name, "a", &b), -EEXIST);
	fpi_registry_cancel(&a.name);
	CHECK_EQ(fpi_registry_lookup(&reg, "a", &found), -ENOENT);
	make(&reg, &b, "a");
	CHECK_EQ(fpi_registry_lookup(&reg, "a", &found), 0);
	CHECK(found == &b);
}

static void a_taken_name_is_refused_and_a_retired_one_is_free(void)
{
	struct fpi_registry reg = FPI_REGISTRY_INIT;
	struct thing a, b;
	void *found = NULL;

	make(&reg, &a, "a");
	CHECK_EQ(fpi_registry_reserve(&reg, &b.name, "a", &b), -EEXIST);
	/* After a refusal b has no name: nothing to give back. */
	fpi_registry_cancel(&b.name);
	CHECK_EQ(fpi_registry_retire(&b.name, 0), 0);
	CHECK_EQ(fpi_registry_retire(&a.name, 0), 0);
	CHECK_EQ(fpi_registry_lookup(&reg, "a", &found), -ENOENT);
	make(&reg, &b, "a");
	CHECK_EQ(fpi_registry_retire(&b.name, 0), 0);
}

static void references_keep_an_object(void)
{
	struct fpi_registry reg = FPI_REGISTRY_INIT;
	struct thing a;
	void *found;

	make(&reg, &a, "a");
	CHECK_EQ(fpi_registry_unref(&a.name), -EINVAL);
	CHECK_EQ(fpi_registry_lookup(&reg, "a", &found), 0);
	CHECK_EQ(fpi_registry_lookup(&reg, "a", &found), 0);
	CHECK_EQ(fpi_registry_retire(&a.name, 0), -EBUSY);
	CHECK_EQ(fpi_registry_unref(&a.name), 0);
	CHECK_EQ(fpi_registry_retire(&a.name, 0), -EBUSY);
	CHECK_EQ(fpi_registry_lookup(&reg, "a", &found), 0);
	CHECK_EQ(fpi_registry_unref(&a.name), 0);
	CHECK_EQ(fpi_registry_unref(&a.name), 0);
	CHECK_EQ(fpi_registry_unref(&a.name), -EINVAL);
	CHECK_EQ(fpi_registry_retire(&a.name, 0), 0);
	CHECK_EQ(fpi_registry_unref(&a.name), -EINVAL);
}

static void objects_without_a_name_pass_through(void)
{
	struct fpi_registry reg = FPI_REGISTRY_INIT;
	struct thing a, b;

	memset(&a, 0xee, sizeof(a));
	make(&reg, &a, NULL);
	make(&reg, &b, NULL);
	CHECK(!fpi_registry_name(&a.name));
	CHECK_EQ(fpi_registry_unref(&a.name), -EINVAL);
	fpi_registry_cancel(&a.name);
	CHECK_EQ(fpi_registry_retire(&b.name, 0), 0);
	CHECK(!FPI_LOAD(&reg.first, FPI_RELAXED));
}

/* Row R-18. */
static void name_length_is_counted_exactly(void)
{
	struct fpi_registry reg = FPI_REGISTRY_INIT;
	struct thing a, b, c;
	char text[300];
	void *found = NULL;

	CHECK_EQ(fpi_registry_reserve(&reg, &a.name, "", &a), -EINVAL);
	for (size_t n = LIBFP_NAME_MAX + 1; n < 300; n++)
		CHECK_EQ(fpi_registry_reserve(&reg, &a.name, name_of(text, n, 'x'), &a),
			 -ENAMETOOLONG);
	make(&reg, &a, name_of(text, LIBFP_NAME_MAX, 'x'));
	make(&reg, &b, name_of(text, LIBFP_NAME_MAX, 'y'));
	make(&reg, &c, name_of(text, 1, 'z'));
	CHECK_EQ(fpi_registry_lookup(&reg, name_of(text, LIBFP_NAME_MAX, 'x'), &found),
		 0);
	CHECK(found == &a);
	CHECK_EQ(fpi_registry_lookup(&reg, name_of(text, LIBFP_NAME_MAX, 'y'), &found),
		 0);
	CHECK(found == &b);
	CHECK_EQ(strlen(fpi_registry_name(&b.name)), LIBFP_NAME_MAX);
	CHECK_EQ(fpi_registry_lookup(&reg, "z", &found), 0);
	CHECK(found == &c);
	CHECK_EQ(fpi_registry_reserve(&reg, &c.name, name_of(text, LIBFP_NAME_MAX, 'x'),
				      &c),
		 -EEXIST);
}

static void names_are_copied(void)
{
	struct fpi_registry reg = FPI_REGISTRY_INIT;
	char text[] = "abc";
	struct thing a;
	void *found;

	make(&reg, &a, text);
	strcpy(text, "xyz");
	CHECK_EQ(fpi_registry_lookup(&reg, "abc", &found), 0);
	CHECK_EQ(fpi_registry_lookup(&reg, "xyz", &found), -ENOENT);
}

static void removal_keeps_the_others(void)
{
	enum { N = 5 };
	static const char *const names[N] = { "a", "b", "c", "d", "e" };

	for (int gone = 0; gone < N; gone++) {
		struct fpi_registry reg = FPI_REGISTRY_INIT;
		struct thing t[N];
		void *found;

		for (int i = 0; i < N; i++)
			make(&reg, &t[i], names[i]);
		CHECK_EQ(fpi_registry_retire(&t[gone].name, 0), 0);
		for (int i = 0; i < N; i++)
			CHECK_EQ(fpi_registry_lookup(&reg, names[i], &found),
				 i == gone ? -ENOENT : 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(published_objects_are_found),
		FPT_CASE(unknown_names_are_not_found),
		FPT_CASE(half_made_objects_are_not_found_but_hold_their_name),
		FPT_CASE(a_taken_name_is_refused_and_a_retired_one_is_free),
		FPT_CASE(references_keep_an_object),
		FPT_CASE(objects_without_a_name_pass_through),
		FPT_CASE(name_length_is_counted_exactly),
		FPT_CASE(names_are_copied),
		FPT_CASE(removal_keeps_the_others),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
