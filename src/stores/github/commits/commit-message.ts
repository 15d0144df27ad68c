/** The most changes that a message lists. */
const MOST_LISTED = 100;

/**
 * The message of a commit: the template's line and, where there are several changes, a list of them. In the template,
 * `{summary}` stands for the change, or how many there are, and `{count}` for their number.
 */
export function commitMessage(template: string, given: readonly string[]): string {
  const summaries = given.map(harmless);
  const [first = ''] = summaries;
  const summary = summaries.length === 1 ? first : `Change ${summaries.length} files and folders`;
  const title = template.replace(/\{(summary|count)\}/g, (_, name) =>
    name === 'summary' ? summary : String(summaries.length),
  );
  if (summaries.length === 1) return title;
  const listed = summaries.slice(0, MOST_LISTED).map((text) => `- ${text}`);
  const more = summaries.length - listed.length;
  return [title, '', ...listed, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
}

/**
 * A summary in which no file name speaks to the host: `closes #1`, `GH-1`, `@team` and `[skip ci]` in a message close
 * issues, call people and stop workflows (docs.github.com, "Autolinked references", "Skipping workflow runs"). A space
 * without width keeps them apart, and is not seen. What terminals take for commands (C1 controls) is left out.
 */
function harmless(summary: string): string {
  return summary.replace(/[\u0080-\u009f]/g, '\ufffd').replace(/[#@[]|\bGH-(?=\d)/gi, '$&\u200b');
}
