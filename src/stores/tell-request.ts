import type { BackendAnswer, BackendRequest } from '../domain/backend-request.ts';

/** Told of each request that was sent to the backend. */
export type TellRequest = (request: BackendRequest) => void;

/** Sends a request, and tells of it when the head of its answer has come, or an error. Costs nothing where nobody is told. */
export async function sendTold<Answer>(
  tell: TellRequest | undefined,
  { method, url }: Pick<BackendRequest, 'method' | 'url'>,
  send: () => Promise<Answer>,
  read: (answer: Answer) => BackendAnswer,
): Promise<Answer> {
  if (!tell) return send();
  const started = performance.now();
  const told = (answer: BackendAnswer) =>
    tell({ method, url: url.split('?')[0] ?? '', ...answer, milliseconds: performance.now() - started });
  try {
    const answer = await send();
    told(read(answer));
    return answer;
  } catch (error) {
    told({ status: undefined, backendId: undefined });
    throw error;
  }
}
