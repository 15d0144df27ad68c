import type { Text } from '../../platform/text/language.ts';
import type { UploadSummary } from './tally.ts';

/** What came of the uploads, in words: `12 files uploaded`, `2 failed`. */
export function resultOf({ count, filesDone }: UploadSummary, { uploads }: Text): readonly string[] {
  const folders = count.done - filesDone;
  return [
    filesDone > 0 ? uploads.done(filesDone) : '',
    filesDone === 0 && folders > 0 ? uploads.foldersDone(folders) : '',
    count.failed > 0 ? uploads.failed(count.failed) : '',
    count.skipped > 0 ? uploads.skipped(count.skipped) : '',
    count.cancelled > 0 ? uploads.cancelled(count.cancelled) : '',
  ].filter((part) => part !== '');
}
