import { writeSync } from 'node:fs';
import { escapeUnseen } from '../domain/error.ts';

export interface LinesOptions {
  /** Whether to wait for whoever reads the other end of a pipe, as it is usual for stdout. */
  readonly waits?: boolean;
}

/** Milliseconds until a pipe that was full is tried again. */
const PIPE_RETRY = 10;

/**
 * Writes lines of JSON to an open file. Each is there as a whole when it returns, by one call of the system where that
 * takes all of it. Throws the system's error where it is not.
 */
export function writeLinesTo(file: number, { waits = false }: LinesOptions = {}): (line: string) => void {
  let isCutOff = false;
  return (json) => {
    const line = escapeUnseen(json);
    // A disk that becomes full takes a part of a line: the next one does not go on where that ended.
    const bytes = Buffer.from(isCutOff ? `\n${line}` : line);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSome(file, bytes.subarray(written), waits);
      isCutOff = false;
    } catch (error) {
      isCutOff ||= written > 0;
      throw error;
    }
  };
}

const nobody = new Int32Array(new SharedArrayBuffer(4));

function writeSome(file: number, bytes: Buffer, waits: boolean): number {
  try {
    return writeSync(file, bytes);
  } catch (error) {
    // Whatever shares the pipe may have made it one that does not wait by itself.
    if (!waits || !(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    Atomics.wait(nobody, 0, 0, PIPE_RETRY);
    return 0;
  }
}
