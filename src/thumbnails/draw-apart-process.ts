/*
 * The process that `draw-apart.ts` starts for one image: image in on stdin, thumbnail out on stdout. Its argument is
 * the time limit in milliseconds.
 */
import { buffer } from 'node:stream/consumers';
import { allowSvg, drawThumbnail } from './draw.ts';
import { REFUSED } from './draw-apart.ts';
import { RenderError, serializeRenderError } from './render-error.ts';

const timeLimit = Number(process.argv[2]);

// The parent kills at the limit. Should it be gone by then, nobody else would ever end a drawing that takes hours;
// an ordinary exit would wait for it.
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 2 * timeLimit).unref();

allowSvg();
try {
  process.stdout.write(await drawThumbnail(await buffer(process.stdin), timeLimit));
} catch (error) {
  if (!(error instanceof RenderError)) throw error;
  process.exitCode = REFUSED;
  process.stdout.write(serializeRenderError(error));
}
