import type { TestService } from './service.ts';

/** Returns the log lines of requests, from the given index of the log. */
export const requestLines = ({ log }: Pick<TestService, 'log'>, from = 0) =>
  log.slice(from).filter((line) => line['msg'] === 'request');

/** Returns the log lines of the requests for a path. */
export const linesOf = (service: Pick<TestService, 'log'>, path: string) =>
  requestLines(service).filter((line) => line['path'] === path);
