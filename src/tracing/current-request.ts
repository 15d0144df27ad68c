import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from './tracer.ts';

/** The request that code runs for, as its log and its trace have to know it. */
export interface CurrentRequest {
  readonly id: string;
  /** What is done now is a part of this; undefined where the request is not traced. */
  readonly span: Span | undefined;
}

const current = new AsyncLocalStorage<CurrentRequest | undefined>();

/** Undefined where code runs for no request, and where nobody wants to know for which one it does. */
export const currentRequest = (): CurrentRequest | undefined => current.getStore();

/** Has everything that `run` does, and what comes of it later, find the request; or none, where it is for none. */
export const runFor = <Result>(request: CurrentRequest | undefined, run: () => Result): Result =>
  current.run(request, run);
