import type { Page } from '../page.ts';
import type { Entry } from '../service/service.ts';
import { asServiceError } from '../service/service-error.ts';
import { reasonOf } from '../text/reason.ts';

/** Milliseconds between two downloads: browsers pass over those that come at once. */
const PAUSE = 300;

/** The most files at once: nobody can take back what the browser has begun. */
const LIMIT = 100;

/** Milliseconds that it may take to learn whether there is something to download. */
const CHECKED_WITHIN = 60_000;

/**
 * Has the browser download the files among the entries, each as a file of its own; says so where they are too many, or
 * where the service gives nothing. Never throws.
 */
export async function download(page: Page, entries: readonly Entry[]): Promise<void> {
  const { urls, messages, language } = page;
  const files = entries.filter(({ type }) => type === 'file');
  if (files.length > LIMIT) {
    messages.say({ kind: 'error', text: language.value.text.clipboard.tooManyDownloads(files.length, LIMIT) });
    return;
  }
  if (!(await isGiven(page, files))) return;
  for (const [index, { path }] of files.entries()) {
    setTimeout(() => follow(urls.download(path)), index * PAUSE);
  }
}

/** Browsers say little of a download that is refused, and nobody could sign in for it: so it is asked for before. */
async function isGiven({ account, service, messages, language }: Page, [first]: readonly Entry[]): Promise<boolean> {
  if (!account || !first) return true;
  try {
    await service.check(first.path, AbortSignal.timeout(CHECKED_WITHIN));
    return true;
  } catch (error) {
    const { text } = language.value;
    messages.say({ kind: 'error', text: text.clipboard.notDownloaded, detail: reasonOf(asServiceError(error), text) });
    return false;
  }
}

function follow(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}
