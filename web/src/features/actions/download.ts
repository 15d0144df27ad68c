import type { Page } from '../page.ts';
import type { Entry } from '../../platform/service/service.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';

/** Milliseconds between two downloads: browsers drop downloads that start at the same time. */
const PAUSE = 300;

/** The maximum number of files per action: the page can't cancel downloads that the browser has started. */
const LIMIT = 100;

/** Timeout of the check whether the service allows the download. */
const CHECKED_WITHIN = 60_000;

/**
 * Downloads the files among the entries one by one. Shows a message if folders are skipped, if there are too many
 * files, or if the service denies access. Never throws.
 */
export async function startDownloads(page: Page, language: FullLanguage, entries: readonly Entry[]): Promise<void> {
  const { urls, messages } = page;
  const { clipboard } = language.text;
  const files = entries.filter(({ type }) => type === 'file');
  if (files.length > LIMIT) {
    messages.say({ kind: 'error', text: clipboard.tooManyDownloads({ count: files.length, limit: LIMIT }) });
    return;
  }
  if (!(await isGiven(page, language, files))) return;
  for (const [index, { path }] of files.entries()) {
    setTimeout(() => follow(urls.download(path)), index * PAUSE);
  }
  if (files.length < entries.length)
    messages.say({ kind: 'error', text: clipboard.foldersLeftOut({ count: files.length }) });
}

/**
 * Checks access before the download. Otherwise the browser would show the error response, and the user could not sign
 * in.
 */
async function isGiven(
  { account, service, messages }: Page,
  language: FullLanguage,
  [first]: readonly Entry[],
): Promise<boolean> {
  if (!account || !first) return true;
  try {
    await service.check(first.path, AbortSignal.timeout(CHECKED_WITHIN));
    return true;
  } catch (error) {
    const detail = language.reasonOf(asServiceError(error));
    messages.say({ kind: 'error', text: language.text.clipboard.notDownloaded, detail });
    return false;
  }
}

function follow(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}
