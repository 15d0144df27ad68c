/** The setting of a service whose processes learn of changes only by messages, because they don't poll. */
export const WITHOUT_POLLS = { NODE_OPTIONS: `--import ${new URL('disable-polls.ts', import.meta.url).href}` } as const;
