import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from './service.ts';

/**
 * Sends `100 Continue` when the service begins to read the body of a request with `Expect: 100-continue` (RFC 9110,
 * section 10.1.1). Node would send it before anything is decided; a request that is refused by its headers gets the
 * refusal instead, and its client does not send the body.
 */
export function continueWhenRead(app: App): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const read = request._read;
    request._read = function readAndContinue(size) {
      this._read = read;
      // After the response, the rest is only read to be dropped.
      if (!response.headersSent && !response.writableEnded) response.writeContinue();
      read.call(this, size);
    };
    app.server.emit('request', request, response);
  });
}
