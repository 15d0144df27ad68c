import { effect, type ReadonlySignal } from '@preact/signals';
import type { FullLanguage, Text } from '../../platform/text/language.ts';
import type { Messages } from '../messages.ts';
import type { UploadSummary } from './totals.ts';

interface AnnouncementOptions {
  readonly summary: ReadonlySignal<UploadSummary>;
  readonly isBusy: ReadonlySignal<boolean>;
  readonly messages: Messages;
  readonly language: ReadonlySignal<FullLanguage>;
}

/** The completed fractions that are announced. */
const ANNOUNCED_PARTS = [0.25, 0.5, 0.75];

/** The minimum time between two announcements of progress. Uploads of a few small files end earlier. */
const MIN_INTERVAL_MS = 4_000;

/** Announces the start, the progress and the result of uploads, for the lifetime of the page. */
export function announceUploads({ summary, isBusy, messages, language }: AnnouncementOptions): void {
  let wasBusy = false;
  let lastPart = 0;
  let lastTime = 0;

  effect(() => {
    const current = summary.value;
    const { text, formats } = language.peek();
    if (isBusy.value !== wasBusy) {
      wasBusy = isBusy.value;
      lastPart = 0;
      lastTime = Date.now();
      const { waiting, sending } = current.count;
      if (!wasBusy) messages.announce(uploadResult(current, text).join(', '));
      else if (waiting + sending > 0) messages.announce(text.uploads.announceStart({ count: waiting + sending }));
      return;
    }
    const part = ANNOUNCED_PARTS.findLast((candidate) => current.part >= candidate) ?? 0;
    if (!wasBusy || part <= lastPart || Date.now() - lastTime < MIN_INTERVAL_MS) return;
    lastPart = part;
    lastTime = Date.now();
    messages.announce(text.uploads.announcePart({ percentage: formats.percent(part) }));
  });
}

/** Returns the result of the uploads as text: `12 files uploaded`, `2 failed`. */
export function uploadResult({ count, filesDone }: UploadSummary, { uploads }: Text): readonly string[] {
  const folders = count.done - filesDone;
  return [
    filesDone > 0 ? uploads.done({ count: filesDone }) : '',
    filesDone === 0 && folders > 0 ? uploads.foldersDone({ count: folders }) : '',
    count.failed > 0 ? uploads.failed({ count: count.failed }) : '',
    count.skipped > 0 ? uploads.skipped({ count: count.skipped }) : '',
    count.cancelled > 0 ? uploads.cancelled({ count: count.cancelled }) : '',
  ].filter((part) => part !== '');
}
