import { parseRetryAfter } from '../../domain/http-date.ts';

/** Maximum size of a response of an identity provider. Documents, key sets and user info take a few KiB. */
const MAX_RESPONSE_BYTES = 2 ** 20;

/** Thrown when an identity provider responds with 429 or 5xx: it is overloaded or fails. */
export class ProviderBusy extends Error {
  override readonly name = 'ProviderBusy';
  /** Seconds until the provider wants the next request, if its response has a valid `Retry-After`. */
  readonly retryAfter: number | undefined;

  constructor({ status, headers }: Response) {
    super(`The identity provider responded with ${status}.`);
    this.retryAfter = parseRetryAfter(headers.get('retry-after') ?? undefined, headers.get('date') ?? undefined);
  }
}

/** Fetches from an identity provider and buffers the body. Throws for a larger body, and `ProviderBusy`. */
export async function fetchFromProvider(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { status, body, headers } = response;
  if (status === 429 || status >= 500) {
    await body?.cancel();
    throw new ProviderBusy(response);
  }
  if (body === null) return response;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) {
      throw new Error(`The response of the identity provider is longer than ${MAX_RESPONSE_BYTES} bytes.`);
    }
  }
  return new Response(Buffer.concat(chunks), { status, headers });
}

/** Returns the seconds of the `ProviderBusy` that caused an error; undefined if there is none. */
export function retryAfterOf(error: unknown): number | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof ProviderBusy) return current.retryAfter && Math.max(1, current.retryAfter);
  }
  return undefined;
}
