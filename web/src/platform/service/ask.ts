import { readAnswer, refusalIn } from './answer.ts';
import { fetchPatiently } from './patience.ts';
import { asServiceError, failureOf, ServiceError } from './service-error.ts';

/** How far a long operation has come. `total` is null while it is not known. */
export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly bytes: number;
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds without a sign of life after which there is no answer. */
  readonly patience?: number;
}

/** What a listing, or a change of one small thing, takes at the very most. */
const PATIENCE = 60_000;

/** The answer of an endpoint that gives JSON. Throws a `ServiceError`, or the `AbortError` of the signal. */
export async function ask<Answer>(url: string, options: AskOptions = {}): Promise<Answer> {
  const response = await send(url, 'application/json', options);
  if (!response.ok) throw await refusalIn(response);
  const answer = await readAnswer(response);
  if (answer === undefined) throw failureOf(response.status, answer, null);
  return answer as Answer;
}

/** The same of an operation on a folder, which tells its progress on the way. It is cancelled by the signal. */
export async function askWithProgress<Answer>(
  url: string,
  { onProgress, ...options }: AskOptions & { readonly onProgress: (progress: Progress) => void },
): Promise<Answer> {
  const response = await send(url, 'application/x-ndjson', options);
  if (!response.headers.get('content-type')?.startsWith('application/x-ndjson') || response.body === null) {
    throw await refusalIn(response);
  }
  for await (const line of linesOf(response.body)) {
    const message = JSON.parse(line) as { progress: Progress } | { success: boolean; status: number };
    if ('progress' in message) onProgress(message.progress);
    else if (message.success) return message as Answer;
    else throw failureOf(message.status, message, null);
  }
  throw new ServiceError(0, '');
}

async function send(
  url: string,
  accept: string,
  { method = 'GET', body, signal, patience = PATIENCE }: AskOptions,
): Promise<Response> {
  const headers = { accept, ...(body && { 'content-type': 'application/json' }) };
  try {
    const request = { method, headers, signal: signal ?? null, body: body ? JSON.stringify(body) : null };
    return await fetchPatiently(url, request, patience);
  } catch (error) {
    throw asServiceError(error);
  }
}

/** What comes without the end of a line was cut off, and is none. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const lines = (rest + decoder.decode(read.value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    throw asServiceError(error);
  } finally {
    // Leaving early is how an operation is cancelled.
    await reader.cancel().catch(() => {});
  }
}
