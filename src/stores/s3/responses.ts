import type { IncomingMessage } from 'node:http';
import type { BackendAnswer } from '../../observability/tracer.ts';
import { type ErrorResponse, requestIdIn, S3ErrorResponse } from './errors.ts';
import { NotXmlError, readFields, readXml } from './xml.ts';

/** What is told of an answer, by its head. */
export const observedResponse = ({
  statusCode,
  headers,
}: Pick<IncomingMessage, 'statusCode' | 'headers'>): BackendAnswer => ({
  status: statusCode,
  backendId: requestIdIn(headers),
});

/** Bytes of the answer of a store that are looked at to learn why it refuses. */
const MOST_OF_REFUSAL = 64 * 2 ** 10;

/** Reads an answer to its end; rejects where it has more bytes than that, or breaks off. */
export function readWhole(response: IncomingMessage, most: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > most) response.destroy(new NotXmlError(`It is longer than ${most} bytes.`));
      else chunks.push(chunk);
    });
    response.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size)));
    response.once('error', reject);
    const requireEnd = () => {
      if (!response.readableEnded) {
        reject(Object.assign(new Error('The answer breaks off.'), { code: 'ECONNRESET' }));
      }
    };
    if (response.destroyed) requireEnd();
    else response.once('close', requireEnd);
  });
}

/** The refusal that an answer is, with the code and message of the store where it has a body that tells them. */
export async function readErrorResponse(
  response: IncomingMessage,
  { isClockCorrected }: Pick<ErrorResponse, 'isClockCorrected'>,
): Promise<S3ErrorResponse> {
  const { statusCode: status = 0, headers } = response;
  const body = await readWhole(response, MOST_OF_REFUSAL).catch((error: unknown) => {
    if (error instanceof NotXmlError) return undefined;
    throw error;
  });
  return new S3ErrorResponse({ isClockCorrected, status, headers, ...(body && told(body.toString())) });
}

/** What a body says of the error; nothing where it is the page of a proxy, say. */
function told(body: string): Partial<ErrorResponse> {
  try {
    const { root, fields } = readFields(body);
    if (root !== 'Error') return {};
    return { code: fields.get('Code'), message: fields.get('Message'), requestId: fields.get('RequestId') };
  } catch (error) {
    if (error instanceof NotXmlError) return {};
    throw error;
  }
}

/** Bytes of what a store answers to a change. */
const MOST_OF_OUTCOME = 64 * 2 ** 10;

/**
 * The elements in the root of an answer that says that all went well. Copies take their time, and so stores begin with
 * that and may end with an error: it is the refusal that it is, and may pass.
 */
export async function readOutcome(response: IncomingMessage): Promise<ReadonlyMap<string, string>> {
  const document = (await readWhole(response, MOST_OF_OUTCOME)).toString();
  if (document === '') return new Map();
  const { root, fields } = readFields(document);
  if (root === 'Error') throw errorInBody(response, fields);
  if (/^html$/i.test(root)) throw new NotXmlError('It is a web page.');
  return fields;
}

/** The refusal that an answer is which began as one that all went well. */
export const errorInBody = ({ headers }: IncomingMessage, fields: ReadonlyMap<string, string>) =>
  new S3ErrorResponse({ status: 503, headers, code: fields.get('Code'), message: fields.get('Message') });

/** A page of a listing, as the store worded it: keys may be escaped, and dates may be none. */
export interface ListResponse {
  readonly isEscaped: boolean;
  readonly isTruncated: boolean;
  readonly token: string | undefined;
  readonly objects: readonly ListedObjectFields[];
  readonly prefixes: readonly string[];
}

export interface ListedObjectFields {
  readonly key: string;
  readonly size: number;
  readonly ETag: string | undefined;
  readonly LastModified: Date | undefined;
}

/** More than 1,000 keys of 1,024 bytes take, all of them escaped. */
const MOST = 16 * 2 ** 20;

/**
 * Reads the answer to ListObjectsV2. What else is in it is passed over, whatever order it has. Throws `NotXmlError` where
 * it is no listing, since nothing in it would look like an empty bucket.
 */
export async function readList(response: IncomingMessage): Promise<ListResponse> {
  const document = (await readWhole(response, MOST)).toString();
  const objects: ListedObjectFields[] = [];
  const prefixes: string[] = [];
  const page = new Map<string, string>();
  let root = '';
  let item: Item = {};
  readXml(document, (name, text, depth) => {
    if (depth === 2) {
      if (name === 'Key') item.key = text;
      else if (name === 'Size') item.size = text;
      else if (name === 'ETag') item.etag = text;
      else if (name === 'LastModified') item.modified = text;
      else if (name === 'Prefix') item.prefix = text;
    } else if (depth === 1) {
      if (name === 'Contents') objects.push(objectOf(item));
      else if (name === 'CommonPrefixes') prefixes.push(item.prefix ?? '');
      else page.set(name, text);
      item = {};
    } else if (depth === 0) {
      root = name;
    }
  });
  if (root === 'Error') throw errorInBody(response, page);
  if (!page.has('Name') && !page.has('IsTruncated')) throw new NotXmlError(`${root} is no listing.`);
  return {
    isEscaped: page.get('EncodingType')?.trim() === 'url',
    isTruncated: page.get('IsTruncated')?.trim() === 'true',
    token: page.get('NextContinuationToken') || undefined,
    objects,
    prefixes,
  };
}

/** What is known so far of what is being read. */
interface Item {
  key?: string;
  size?: string;
  etag?: string;
  modified?: string;
  prefix?: string;
}

function objectOf({ key = '', size = '0', etag, modified }: Item): ListedObjectFields {
  const bytes = Number(size);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new NotXmlError(`${size} is not the size of an object.`);
  const time = Date.parse(modified ?? '');
  return { key, size: bytes, ETag: etag, LastModified: Number.isNaN(time) ? undefined : new Date(time) };
}
