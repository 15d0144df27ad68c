import type { Account } from '../../model/account/account.ts';
import type { Messages } from '../../model/messages.ts';
import type { Visit } from '../../model/visit/visit.ts';
import type { Entry, Service } from '../../platform/service/service.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { FullLanguage } from '../../platform/text/language.ts';

interface DownloadModels {
  readonly account: Account | null;
  readonly service: Service;
  readonly urls: Urls;
  readonly messages: Messages;
  readonly visit: Visit | null;
}

/** Milliseconds between two downloads: browsers drop downloads that start at the same time. */
const INTERVAL_MS = 300;

/** The maximum number of files per action: the page can't cancel downloads that the browser has started. */
const MAX_FILES = 100;

/** Timeout of the check whether the service allows the download. */
const CHECK_TIMEOUT_MS = 60_000;

/**
 * Downloads the files among the entries one by one. Shows a message if folders are skipped, if there are too many
 * files, or if the service denies access. Never throws.
 */
export async function startDownloads(
  models: DownloadModels,
  language: FullLanguage,
  entries: readonly Entry[],
): Promise<void> {
  const { urls, messages } = models;
  const { downloads } = language.text;
  const files = entries.filter(({ type }) => type === 'file');
  if (files.length > MAX_FILES) {
    messages.show({ kind: 'error', text: downloads.tooManyDownloads({ count: files.length, limit: MAX_FILES }) });
    return;
  }
  if (!(await canDownload(models, language, files))) return;
  for (const [index, { path }] of files.entries()) {
    setTimeout(() => clickLink(urls.download(path)), index * INTERVAL_MS);
  }
  if (files.length < entries.length)
    messages.show({ kind: 'error', text: downloads.foldersSkipped({ count: files.length }) });
}

/**
 * Checks access before the download. Otherwise the browser would show the error response, and the user could not sign
 * in.
 */
async function canDownload(
  { account, service, messages, visit }: DownloadModels,
  language: FullLanguage,
  [first]: readonly Entry[],
): Promise<boolean> {
  if ((!account && !visit) || !first) return true;
  try {
    await service.check(first.path, AbortSignal.timeout(CHECK_TIMEOUT_MS));
    return true;
  } catch (error) {
    const detail = language.reasonOf(asServiceError(error));
    messages.show({ kind: 'error', text: language.text.downloads.notDownloaded, detail });
    return false;
  }
}

/** Downloads a URL that responds with an attachment. */
export function clickLink(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}
