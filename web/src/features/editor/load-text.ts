import { type DecodedText, decodeUtf8, normalizeLines } from '../../model/editing/text-file.ts';
import { MAX_EDITED_BYTES } from '../../platform/preview-kinds.ts';
import { findFile, readFile } from '../../platform/service/file-contents.ts';
import type { Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import { createTextDecoder } from '../viewer/text/read-text.ts';

/** A file that the editor has read. */
export type LoadedText =
  | {
      readonly kind: 'text';
      readonly decoded: DecodedText;
      /** Whether the file has another encoding than UTF-8. */
      readonly isForeign: boolean;
      readonly etag: string;
      readonly contentType: string;
    }
  | { readonly kind: 'binary' }
  | { readonly kind: 'too-large' };

/** Reads a file for the editor. Throws like `readFile`. `language` is that of the page: see `createTextDecoder`. */
export async function loadText(
  service: Pick<Service, 'send'>,
  path: string,
  { language, signal }: { readonly language: string; readonly signal: AbortSignal },
): Promise<LoadedText> {
  const entry = await findFile(service, path);
  if (!entry) throw new ServiceError(404, 'The file does not exist.', { code: 'not-found' });
  const { contentType } = entry;
  const content = await readFile(service, path, { maxBytes: MAX_EDITED_BYTES, signal });
  if (!content) return { kind: 'too-large' };
  const { bytes, etag } = content;
  const decoded = decodeUtf8(bytes);
  if (decoded) return { kind: 'text', decoded, isForeign: false, etag, contentType };
  const foreign = createTextDecoder(bytes, { contentType, language, isWhole: true })?.(bytes, true);
  if (foreign === undefined) return { kind: 'binary' };
  return { kind: 'text', decoded: normalizeLines(foreign), isForeign: true, etag, contentType };
}
