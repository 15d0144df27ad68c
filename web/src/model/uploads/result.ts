import type { Text } from '../../platform/text/language.ts';
import type { UploadSummary } from './tally.ts';

/** What came of the uploads, in words: `12 files uploaded`, `2 failed`. */
export function resultOf({ count, filesDone }: UploadSummary, { uploads }: Text): readonly string[] {
  const folders = count.done - filesDone;
  return [
    filesDone > 0 ? uploads.done({ count: filesDone }) : '',
    filesDone === 0 && folders > 0 ? uploads.foldersDone({ count: folders }) : '',
    count.failed > 0 ? uploads.failed({ count: count.failed }) : '',
    count.skipped > 0 ? uploads.skipped({ count: count.skipped }) : '',
    count.cancelled > 0 ? uploads.cancelled({ count: count.cancelled }) : '',
  ].filter((part) => part !== '');
}
