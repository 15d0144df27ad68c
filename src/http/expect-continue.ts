import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from './service.ts';

/**
 * Sends `100 Continue` when the service begins to read the body of a request with `Expect: 100-continue` (RFC 9110,
 * section 10.1.1). Node.js would send it before any decision. A request that is refused by its headers now gets the
 * error response, and its client does not send the body.
 */
export function continueWhenRead(app: App): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const read = request._read;
    request._read = function readAndContinue(size) {
      this._read = read;
      // After the response, the rest of the body is only drained.
      if (!response.headersSent && !response.writableEnded) response.writeContinue();
      read.call(this, size);
    };
    app.server.emit('request', request, response);
  });
}
