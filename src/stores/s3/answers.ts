import type { IncomingMessage } from 'node:http';
import type { BackendAnswer } from '../../domain/backend-request.ts';
import { Refusal, type RefusingAnswer, requestIdIn } from './refusal.ts';
import { NotXmlError, readFields } from './xml.ts';

/** What is told of an answer, by its head. */
export const toldOf = ({ statusCode, headers }: Pick<IncomingMessage, 'statusCode' | 'headers'>): BackendAnswer => ({
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
export async function readRefusal(
  response: IncomingMessage,
  { isClockCorrected }: Pick<RefusingAnswer, 'isClockCorrected'>,
): Promise<Refusal> {
  const { statusCode: status = 0, headers } = response;
  const body = await readWhole(response, MOST_OF_REFUSAL).catch((error: unknown) => {
    if (error instanceof NotXmlError) return undefined;
    throw error;
  });
  return new Refusal({ isClockCorrected, status, headers, ...(body && told(body.toString())) });
}

/** What a body says of the error; nothing where it is the page of a proxy, say. */
function told(body: string): Partial<RefusingAnswer> {
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
  if (root === 'Error') throw lateRefusal(response, fields);
  if (/^html$/i.test(root)) throw new NotXmlError('It is a web page.');
  return fields;
}

/** The refusal that an answer is which began as one that all went well. */
export const lateRefusal = ({ headers }: IncomingMessage, fields: ReadonlyMap<string, string>) =>
  new Refusal({ status: 503, headers, code: fields.get('Code'), message: fields.get('Message') });
