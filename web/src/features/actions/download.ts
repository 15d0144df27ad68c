import type { Failure } from '../../../../src/http/schemas.ts';
import type { Account } from '../../model/account/account.ts';
import type { Messages } from '../../model/messages.ts';
import type { Visit } from '../../model/visit/visit.ts';
import type { Entry, Service } from '../../platform/service/service.ts';
import { asServiceError, ServiceError } from '../../platform/service/service-error.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { FullLanguage } from '../../platform/text/language.ts';

interface DownloadModels {
  readonly account: Account | null;
  readonly service: Service;
  readonly urls: Urls;
  readonly messages: Messages;
  readonly visit: Visit | null;
}

/** The maximum number of files and folders per action: see `ZipRequest`. */
const MAX_ENTRIES = 10_000;

/** Timeout of the check whether the service allows the download. */
const CHECK_TIMEOUT_MS = 60_000;

/**
 * Downloads a single file as it is, and anything else as one ZIP archive. Shows a message if there are too many entries,
 * or if the service denies access. Never throws.
 */
export async function startDownload(
  models: DownloadModels,
  language: FullLanguage,
  entries: readonly Entry[],
): Promise<void> {
  const { urls, messages } = models;
  const { downloads } = language.text;
  const [first] = entries;
  if (!first) return;
  if (entries.length > MAX_ENTRIES) {
    const text = downloads.tooMany({ count: entries.length, limit: MAX_ENTRIES });
    messages.show({ kind: 'error', text });
    return;
  }
  const showFailure = (error: unknown) => {
    const detail = language.reasonOf(asServiceError(error));
    messages.show({ kind: 'error', text: downloads.notDownloaded, detail });
  };
  try {
    await checkAccess(models, first);
  } catch (error) {
    return showFailure(error);
  }
  if (entries.length === 1 && first.type === 'file') return clickLink(urls.download(first.path));
  messages.show({ kind: 'done', text: downloads.preparing });
  const paths = entries.map(({ path }) => path);
  submitForm(urls.endpoint('-/zip'), paths, showFailure);
}

/** Checks access before the download. Otherwise the user could not sign in, or enter the password of a link. */
async function checkAccess({ account, service, visit }: DownloadModels, { type, path }: Entry): Promise<void> {
  if (!account && !visit) return;
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  if (type === 'file') await service.check(path, signal);
  else await service.list(path, { limit: 1, signal });
}

/**
 * Requests an archive by a form, so that the browser writes the response to a file while it arrives. The form has a frame
 * of its own: an error would otherwise replace the page.
 */
function submitForm(action: string, paths: readonly string[], onFailure: (error: unknown) => void): void {
  const frame = document.createElement('iframe');
  frame.name = `download-${crypto.randomUUID()}`;
  const form = document.createElement('form');
  Object.assign(form, { method: 'post', action, target: frame.name });
  for (const path of paths) {
    const input = document.createElement('input');
    Object.assign(input, { type: 'hidden', name: 'paths', value: path });
    form.append(input);
  }
  frame.hidden = form.hidden = true;
  document.body.append(frame, form);
  // A download has no such event. The empty document of a new frame has one in some browsers.
  frame.addEventListener('load', () => {
    const response = frame.contentDocument;
    if (response?.URL === 'about:blank') return;
    onFailure(failureOf(response?.body.textContent));
    frame.remove();
  });
  form.submit();
  form.remove();
}

/** Returns the error in a response. Without a body of the service, such as from a proxy, it counts as unreachable. */
function failureOf(body: string | undefined): ServiceError {
  try {
    const { code, error } = JSON.parse(body ?? '') as Failure;
    return new ServiceError(500, error, { code });
  } catch {
    return new ServiceError(0, 'The response is not from the service.');
  }
}

/** Downloads a URL that responds with an attachment. */
export function clickLink(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}
