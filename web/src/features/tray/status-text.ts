import type { UploadSummary } from '../../model/uploads/totals.ts';
import type { UploadItem } from '../../model/uploads/upload-item.ts';
import type { Formats } from '../../platform/text/formats.ts';
import type { FullLanguage, Text } from '../../platform/text/language.ts';

/** Returns the state of an item as text. */
export function itemStatus(item: UploadItem, language: FullLanguage): string {
  const { text, formats } = language;
  const { states } = text.uploads;
  const state = item.state.value;
  const problem = item.problem.value;
  switch (state) {
    case 'sending':
      if (problem) return states.tryingAgain({ message: language.problemOf(problem) });
      return text.uploads.of({ done: formats.size(item.sent.value), total: formats.size(item.size) });
    case 'failed':
      return problem ? language.reasonOf(problem) : '';
    case 'done':
      if (item.kind === 'folder') return states.created;
      if (item.storedName.value !== item.name) return states.doneAs({ name: item.storedName.value });
      return formats.size(item.size);
    case 'waiting':
      return `${states.waiting} · ${formats.size(item.size)}`;
    case 'asking':
    case 'cancelled':
    case 'skipped':
      return states[state];
  }
}

/** The speed below which it is omitted: the response time of the service determines it. */
const MIN_BYTES_PER_SECOND = 1000;

/** Returns the position of the current upload among those that are expected to complete. */
export function activeTitle({ count }: UploadSummary, { uploads }: Text): string {
  const total = count.done + count.sending + count.waiting + count.asking;
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
    secondsLeft !== null ? uploads.left({ duration: formats.duration(secondsLeft) }) : '',
    count.failed > 0 ? uploads.failed({ count: count.failed }) : '',
  ].filter((detail) => detail !== '');
}
