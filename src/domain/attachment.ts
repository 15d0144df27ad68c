import { type FilePath, nameOf } from './path.ts';

/**
 * `Content-Disposition: attachment` with the file's name, in ASCII for old clients and whole in UTF-8 (RFC 6266).
 * Presigned URLs of object stores carry it as well, so that a download is one wherever it comes from.
 */
export function attachment(file: FilePath): string {
  const name = nameOf(file);
  const ascii = name.replace(/[^\x20-\x7e]/gu, '_').replace(/["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
