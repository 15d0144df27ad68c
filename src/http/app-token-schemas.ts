import { type Static, Type } from 'typebox';
import { success } from './schema-fields.ts';

/*
 * The JSON shapes of app tokens in the HTTP API. The web UI imports their types from `schemas.ts`, so this file and its
 * imports must work in browsers.
 */

const permissions = Type.Array(Type.Union([Type.Literal('read'), Type.Literal('write'), Type.Literal('manage')]), {
  minItems: 1,
  uniqueItems: true,
  description: 'The permissions that the token gives at most.',
});

const AppTokenDescription = Type.Object(
  {
    id: Type.String(),
    name: Type.String({ description: 'The name of the app.' }),
    folder: Type.String({
      description: 'The folder outside of which the token gives no permission. Ends with "/"; the root is empty.',
    }),
    permissions,
    createdAt: Type.String({ format: 'date-time' }),
    lastUsedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Exact to the minute.' })),
    expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { title: 'AppToken' },
);
export type AppToken = Static<typeof AppTokenDescription>;

export const CreateAppToken = Type.Object(
  {
    name: Type.String({ description: 'The name of the app: one line of at most 200 characters.' }),
    folder: Type.Optional(
      Type.String({ description: 'The folder to which the token is limited. Default: the root, without a limit.' }),
    ),
    permissions: Type.Optional(permissions),
    expiresAt: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'When the token ends, as a time of RFC 3339. Default: never.',
      }),
    ),
  },
  { title: 'CreateAppTokenRequest', additionalProperties: false },
);
export type CreateAppToken = Static<typeof CreateAppToken>;

export const AppTokenCreated = Type.Object(
  {
    success,
    message: Type.String(),
    token: AppTokenDescription,
    secret: Type.String({ description: 'The token for the app. It is never returned again.' }),
  },
  { title: 'AppTokenCreated' },
);
export type AppTokenCreated = Static<typeof AppTokenCreated>;

export const AppTokenList = Type.Object(
  { success, tokens: Type.Array(AppTokenDescription, { description: 'The newest first.' }) },
  { title: 'AppTokenList' },
);
export type AppTokenList = Static<typeof AppTokenList>;

export const AppTokenId = Type.Object({ id: Type.String({ description: 'The ID of the app token.' }) });
