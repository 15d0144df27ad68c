import { effect, type ReadonlySignal } from '@preact/signals';
import type { Formats } from '../../platform/text/formats.ts';
import type { FullLanguage, Text } from '../../platform/text/language.ts';
import type { Messages } from '../messages.ts';
import type { UploadSummary } from './totals.ts';
import type { UploadItem } from './upload-item.ts';

/* The texts about uploads: those in the tray, and those for screen readers. */

/** Returns the state of an item as text. */
export function itemStatus(item: UploadItem, language: FullLanguage): string {
  const { text, formats } = language;
  const { states } = text.uploads;
  const state = item.state.value;
  const problem = item.problem.value;
  switch (state) {
    case 'sending':
      if (problem) return states.retrying({ message: language.retryReasonOf(problem) });
      return text.uploads.sentOf({ done: formats.size(item.sent.value), total: formats.size(item.size) });
    case 'failed':
      return problem ? language.reasonOf(problem) : '';
    case 'done':
      if (item.kind === 'folder') return states.created;
      if (item.storedName.value !== item.name) return states.doneAs({ name: item.storedName.value });
      return formats.size(item.size);
    case 'waiting':
      return `${states.waiting} · ${formats.size(item.size)}`;
    case 'interrupted':
      if (item.sent.value === 0) return `${states.notUploaded} · ${formats.size(item.size)}`;
      return text.uploads.sentOf({ done: formats.size(item.sent.value), total: formats.size(item.size) });
    case 'conflict':
    case 'cancelled':
    case 'skipped':
      return states[state];
  }
}

/** The speed below which it is omitted: the response time of the service determines it. */
const MIN_BYTES_PER_SECOND = 1000;

/** Returns the position of the current upload among those that are expected to complete. */
export function activeTitle({ count }: UploadSummary, { uploads }: Text): string {
  const total = count.done + count.sending + count.waiting + count.conflict;
  return uploads.uploading({ position: Math.min(total, count.done + 1), total });
}

/** Returns the progress, speed and remaining time of the current uploads, and how many have failed. */
export function activeDetails(
  { part, speed, secondsLeft, count }: UploadSummary,
  { uploads }: Text,
  formats: Formats,
): readonly string[] {
  // Shows 100 % only when all are done: the service still has to store the last bytes.
  const percent = formats.percent(Math.min(99, Math.floor(part * 100)) / 100);
  return [
    percent,
    speed !== null && speed >= MIN_BYTES_PER_SECOND ? formats.speed(speed) : '',
    secondsLeft !== null ? uploads.timeLeft({ duration: formats.duration(secondsLeft) }) : '',
    count.failed > 0 ? uploads.failed({ count: count.failed }) : '',
  ].filter((detail) => detail !== '');
}

/** Returns the result of the uploads as text: `12 files uploaded`, `2 failed`. */
export function uploadResult({ count, filesDone }: UploadSummary, { uploads }: Text): readonly string[] {
  return [
    filesDone > 0 ? uploads.done({ count: filesDone }) : '',
    filesDone === 0 && count.done > 0 ? uploads.foldersDone({ count: count.done }) : '',
    count.failed > 0 ? uploads.failed({ count: count.failed }) : '',
    count.skipped > 0 ? uploads.skipped({ count: count.skipped }) : '',
    count.cancelled > 0 ? uploads.cancelled({ count: count.cancelled }) : '',
  ].filter((part) => part !== '');
}

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
    messages.announce(text.uploads.announceProgress({ percentage: formats.percent(part) }));
  });
}
