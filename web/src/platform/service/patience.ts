import { ServiceError } from './service-error.ts';

/**
 * Fetches, and gives up what stands still: without a sign of life for so many milliseconds, be it before the answer or
 * in the middle of it, it fails with a `ServiceError` of status 0. What goes on takes as long as it takes.
 */
export async function fetchPatiently(url: string, request: RequestInit, milliseconds: number): Promise<Response> {
  const stalled = new AbortController();
  const giveUp = () => stalled.abort(new ServiceError(0, ''));
  let timer = setTimeout(giveUp, milliseconds);
  const end = () => clearTimeout(timer);
  const goOn = () => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, milliseconds);
  };
  const signal = AbortSignal.any([stalled.signal, ...(request.signal ? [request.signal] : [])]);
  try {
    // While a page loads after going back, browsers use cached responses of any age unless the request forbids it.
    const { body, status, headers } = await fetch(url, { cache: 'no-cache', ...request, signal });
    goOn();
    if (body) return new Response(watched(body, { goOn, end }), { status, headers });
    end();
    return new Response(null, { status, headers });
  } catch (error) {
    end();
    throw error;
  }
}

/** The same bytes; each piece is a sign of life. */
function watched(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { goOn, end }: { goOn: () => void; end: () => void },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          goOn();
          return controller.enqueue(value);
        }
        end();
        controller.close();
      } catch (error) {
        end();
        throw error;
      }
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  });
}
