import type { Violation } from './check.ts';
import type { History, Line, Operation, Outcome } from './history.ts';

/** Describes a violation in lines for readers: the events of its paths since their contents were last known. */
export function reportOf(history: History, { line: index, why, possible }: Violation): string {
  const { lines, store, seed } = history;
  const calls = new Map(lines.flatMap((line) => (line.is === 'call' ? [[line.id, line] as const] : [])));
  const failed = lines[index];
  const failedId = failed?.is === 'end' || failed?.is === 'call' ? failed.id : undefined;
  const failedCall = failedId === undefined ? undefined : calls.get(failedId);
  const paths = failedCall ? pathsOf(failedCall.operation, history.paths) : history.paths;
  const concerns = (operation: Operation) => pathsOf(operation, history.paths).some((path) => paths.includes(path));
  const from = beginOf(lines, index);
  const relevant = lines.slice(from, index + 1).filter((line) => {
    if (!('id' in line)) return true;
    const call = calls.get(line.id);
    return call !== undefined && concerns(call.operation);
  });
  return [
    `No explanation for line ${index + 2} of the history on the store "${store}" (seed ${seed}): ${why}.`,
    ...(failedCall ? [`It is operation ${failedCall.id}, ${describe(failedCall.operation)}.`] : []),
    ...paths.map((path) => `Before, ${path} could contain ${(possible.get(path) ?? []).map(nameOf).join(' or ')}.`),
    'The events of these paths in this round and the previous one:',
    ...relevant.map((line) => describeLine(line, calls)),
  ].join('\n');
}

/** Returns the number of the line at which the previous round begins. */
function beginOf(lines: readonly Line[], index: number): number {
  const rounds = lines.slice(0, index).flatMap((line, at) => (line.is === 'looked' ? [at] : []));
  return (rounds.at(-2) ?? -1) + 1;
}

function pathsOf(operation: Operation, all: readonly string[]): readonly string[] {
  const below = (folder: string) => all.filter((path) => path.startsWith(folder));
  if (operation.does === 'undo') return pathsOf(operation.of, all);
  if ('path' in operation) return [operation.path];
  if (operation.does === 'purge') return [];
  if ('from' in operation) return [...below(operation.from), ...below(operation.to)];
  return operation.folder === '' ? all.filter((path) => !path.includes('/')) : below(operation.folder);
}

function describeLine(line: Line, calls: ReadonlyMap<number, Line & { is: 'call' }>): string {
  const time = `${line.at.toFixed(1).padStart(10)} ms`;
  if (line.is === 'barrier') return `${time}  ---- all clients have ended`;
  if (line.is === 'looked') return `${time}  ---- every path was read`;
  if (line.is === 'kept') return `${time}  ---- the store has ${line.contents.length} contents`;
  if (line.is === 'fault') {
    const what = line.fault === 'kill' ? `service ${line.replica} is killed` : 'a connection to the store is cut';
    return `${time}  !!!! ${what}`;
  }
  const call = calls.get(line.id);
  const who = `${call?.client ?? ''}${call?.protocol ? ' (DAV)' : ''} → ${call?.replica ?? ''}`.padEnd(13);
  const number = String(line.id).padStart(5);
  if (line.is === 'call') return `${time}  ${who} ${number}  ${describe(line.operation)} …`;
  return `${time}  ${who} ${number}  … ${call ? describe(call.operation) : ''}: ${describeOutcome(line.outcome)}`;
}

function describe(operation: Operation): string {
  switch (operation.does) {
    case 'upload': {
      const { path, content, isNew, leaves } = operation;
      return `upload ${nameOf(content)} at ${path}${isNew ? ', where nothing is' : ''}${leaves ? `, leaving ${leaves}` : ''}`;
    }
    case 'fetch':
      return `fetch ${operation.path}${operation.range ? `, bytes ${operation.range.join('-')}` : ''}`;
    case 'delete':
      return `delete ${operation.path}`;
    case 'restore':
      return `restore ${nameOf(operation.content)} to ${operation.path}`;
    case 'restore folder': {
      const files = Object.entries(operation.files).map(([path, content]) => `${path} = ${nameOf(content)}`);
      return `restore ${operation.folder} with ${files.join(', ') || 'no files'}`;
    }
    case 'restore version':
      return `restore the version ${nameOf(operation.content)} of ${operation.path}`;
    case 'undo':
      return `undo: ${describe(operation.of)}`;
    case 'purge':
      return `delete ${operation.contents.map(nameOf).join(', ') || 'no files'} permanently`;
    case 'list':
    case 'create folder':
    case 'delete folder':
      return `${operation.does} ${operation.folder || '/'}`;
    default:
      return `${operation.does} ${operation.from} to ${operation.to}${operation.replace ? ', replacing' : ''}`;
  }
}

function describeOutcome(outcome: Outcome): string {
  switch (outcome.is) {
    case 'done':
      return 'done';
    case 'found':
      return nameOf(outcome.content ?? 0);
    case 'listed':
      if (outcome.files === null) return 'no such folder';
      return (
        Object.entries(outcome.files)
          .map(([path, size]) => `${path} = ${nameOf(size)}`)
          .join(', ') || 'no files'
      );
    case 'refused':
      return `refused, ${outcome.status}: ${outcome.error}`;
    case 'without folder':
      return `the folder does not exist: ${outcome.error}`;
    case 'unknown':
    case 'wrong':
      return `${outcome.is}: ${outcome.why}`;
    case 'left':
      return 'left before all was sent';
  }
}

const nameOf = (content: number): string => (content === 0 ? 'nothing' : `content ${content}`);
