import { asServiceError, failureOf, type ServiceError } from './service-error.ts';

/**
 * What an answer says, as JSON; undefined where it is none. Throws a `ServiceError` where it was cut off, and the
 * `AbortError` of whoever does not want it any more.
 */
export async function readAnswer(response: Response): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    throw asServiceError(error);
  });
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The error that an answer is about. Throws as `readAnswer` does. */
export async function refusalIn(response: Response): Promise<ServiceError> {
  return failureOf(response.status, await readAnswer(response), response.headers.get('retry-after'));
}
