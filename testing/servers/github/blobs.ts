import { nodeId, urlOf } from './addresses.ts';
import { type Bytes, type Call, ErrorResponse, notFound, type Response } from './exchange.ts';
import type { ObjectHeader } from './objects.ts';
import type { HostedRepository } from './repository.ts';

/** "Get a blob", "Get repository content": up to 100 MB. */
const MAX_BLOB_BYTES = 100 * 2 ** 20;

/** `POST /repos/{owner}/{repo}/git/blobs` */
export async function createBlob(call: Call): Promise<Response> {
  const { content, encoding = 'utf-8' } = call.body as { readonly content: string; readonly encoding?: string };
  const bytes = encoding === 'base64' ? decodeBase64(content) : Buffer.from(content);
  if (bytes.length > call.host.limits.blobBytes) throw tooLarge();
  const sha = await call.repository.objects.write('blob', bytes);
  const url = `${urlOf(call)}/git/blobs/${sha}`;
  return { status: 201, headers: { location: url }, json: { sha, url } };
}

/** `GET /repos/{owner}/{repo}/git/blobs/{file_sha}` */
export async function getBlob(call: Call): Promise<Response> {
  const { repository, parameter, accept } = call;
  const header = await repository.objects.header(parameter);
  if (header?.type !== 'blob') throw notFound();
  const { sha, size } = header;
  refuseTooLarge(size);
  if (isRaw(accept)) return rawResponse(bytesOf(repository, header));
  const content = wrap((await repository.objects.read(sha)).toString('base64'));
  const url = `${urlOf(call)}/git/blobs/${sha}`;
  return { status: 200, json: { sha, node_id: nodeId('B', sha), size, url, content, encoding: 'base64' } };
}

export function isRaw(accept: string): boolean {
  return /application\/vnd\.github(?:\.v3)?\.raw\b/.test(accept);
}

export function rawResponse(bytes: Bytes): Response {
  return { status: 200, headers: { 'content-type': 'application/vnd.github.raw+json; charset=utf-8' }, bytes };
}

/** Returns the bytes of a blob, which are read when they are sent. */
export function bytesOf({ objects }: HostedRepository, { sha, size }: ObjectHeader): Bytes {
  return { sha, size, open: () => objects.stream(sha) };
}

export function refuseTooLarge(size: number): void {
  if (size <= MAX_BLOB_BYTES) return;
  const message = 'This API returns blobs up to 100 MB in size. The requested blob is too large to fetch via the API.';
  throw new ErrorResponse(403, message, { errors: [{ resource: 'Blob', field: 'data', code: 'too_large' }] });
}

export function tooLarge(): ErrorResponse {
  const message =
    'Sorry, your input was too large to process. Consider creating the blob in a local clone of the repository and then pushing it to GitHub.';
  const errors = [{ resource: 'Blob', code: 'custom', field: 'data', message: 'input too large' }];
  return new ErrorResponse(422, message, { errors });
}

export function decodeBase64(text: string): Buffer {
  // The text may have line breaks, such as those of `wrap`.
  const plain = text.includes('\n') ? text.replaceAll(/[\r\n]/g, '') : text;
  const padding = plain.endsWith('==') ? 2 : Number(plain.endsWith('='));
  const bytes = Buffer.from(plain, 'base64');
  // Node.js ignores characters that are not Base64, and also accepts base64url.
  const isComplete = plain.length % 4 === 0 && bytes.length === (plain.length / 4) * 3 - padding;
  if (!isComplete || plain.includes('-') || plain.includes('_'))
    throw new ErrorResponse(422, 'content is not valid Base64');
  return bytes;
}

/** 60 characters per line. The last line also ends with a line break. */
export function wrap(base64: string): string {
  return base64.replaceAll(/.{1,60}/g, '$&\n');
}
