import { createReadStream } from 'node:fs';
import { DetailedError, Upload } from 'tus-js-client';

export interface TusUpload {
  /** The URL of the service, without a trailing slash. */
  readonly service: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The content: bytes, or the path of a file. */
  readonly content: Buffer | string;
  /** Bytes of a part. */
  readonly chunkSize: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called before each request with its method. The request waits for it. */
  readonly beforeRequest?: (method: string) => Promise<void>;
  /** Called with the offset after each part. */
  readonly onPart?: (offset: number) => void;
}

/** The costs of an upload. */
export interface TusResult {
  /** Requests by method and status; the status 0 is a request without a response. */
  readonly requests: Readonly<Record<string, number>>;
  /** The URLs of the created uploads. */
  readonly urls: readonly string[];
}

/** Milliseconds before each retry since the last progress. */
const RETRY_DELAYS = [0, 100, 200, 400, ...Array.from({ length: 100 }, () => 800)];

/** Uploads with tus-js-client, which continues after errors. Rejects if it stops retrying. */
export async function uploadByTus({
  service,
  content,
  beforeRequest,
  onPart,
  ...options
}: TusUpload): Promise<TusResult> {
  const requests: Record<string, number> = {};
  const urls = new Set<string>();
  const count = (method: string, status: number) => {
    const name = `${method} ${status}`;
    requests[name] = (requests[name] ?? 0) + 1;
  };
  await new Promise<void>((resolve, reject) => {
    const source = typeof content === 'string' ? createReadStream(content) : content;
    // The types of tus-js-client don't know its own support for files of Node.js.
    const upload = new Upload(source as Buffer, {
      endpoint: `${service}/-/uploads`,
      retryDelays: RETRY_DELAYS,
      ...options,
      onBeforeRequest: (request) => beforeRequest?.(request.getMethod()),
      onAfterResponse: (request, response) => count(request.getMethod(), response.getStatus()),
      onShouldRetry: ({ originalRequest, originalResponse }) => {
        const status = originalResponse?.getStatus() ?? 0;
        if (status === 0) count(originalRequest.getMethod(), 0);
        // As tus-js-client decides by default.
        return status < 400 || status >= 500 || status === 409 || status === 423;
      },
      onUploadUrlAvailable: () => void urls.add(String(upload.url)),
      onChunkComplete: (_size, accepted) => onPart?.(accepted),
      onSuccess: () => resolve(),
      onError: (error) => {
        const body = error instanceof DetailedError ? error.originalResponse?.getBody() : undefined;
        reject(new Error(`${error.message} ${body ?? ''} ${JSON.stringify(requests)}`, { cause: error }));
      },
    });
    upload.start();
  });
  return { requests, urls: [...urls] };
}
