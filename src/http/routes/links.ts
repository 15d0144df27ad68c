import type { FastifyRequest } from 'fastify';
import { createCreator } from '../../access/creator.ts';
import { hashPassword, isUsablePassword, MAX_PASSWORD_BYTES } from '../../access/credentials.ts';
import { describeLink } from '../../links/descriptions.ts';
import {
  canAdminister,
  type Link,
  type LinkPermission,
  type LinkSettings,
  linkNotFound,
  linkUrl,
  PERMISSION_OF_SETTING,
  parseLabel,
  parsePermissions,
} from '../../links/link.ts';
import { StoreError } from '../../model/error.ts';
import { parseExpiry } from '../../model/expiry.ts';
import { type FilePath, type FolderPath, isFolder, parseFile, parseFolder } from '../../model/path.ts';
import { endOf } from '../access/creations.ts';
import { accessOf } from '../access/request-access.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { ChangeLink, CreateLink, LinkCreated, LinkId, LinkList, LinkQuery, LinkResponse } from '../link-schemas.ts';
import { Failure, Success } from '../schemas.ts';
import type { LinkService, Service } from '../service.ts';

/** Default number of links in a page. */
const DEFAULT_LIMIT = 100;

/** How often a change is applied again because other requests change the link at the same time. */
const MAX_CHANGE_ATTEMPTS = 10;

const config = { access: 'links' } as const;
const failures = { '4xx': Failure, '5xx': Failure };
const tags = ['Share links'];

/** Registers the routes whose request bodies are ignored. */
export function linkRoutes(app: App, service: Service, { table, items }: LinkService): void {
  const describe = descriptionsOf(service, items);
  app.get(
    '/-/links',
    {
      config,
      schema: {
        tags,
        summary: 'List share links',
        description:
          "Returns the user's own links. With `path` or `below`, also those of other users to what the user manages. If access control has no users, returns all links.",
        querystring: LinkQuery,
        response: { 200: LinkList, ...failures },
      },
    },
    async (request, reply) => {
      const { path, below, limit = DEFAULT_LIMIT, cursor } = request.query;
      const { user } = accessOf(request);
      const policy = service.access.policy();
      reply.header('cache-control', 'no-store');
      const isOwnOnly = path === undefined && below === undefined && user !== undefined;
      const page = await table.list({
        limit,
        cursor,
        creatorName: isOwnOnly ? user.name : undefined,
        path: path === undefined ? undefined : parseItem(path),
        below: below === undefined ? undefined : parseFolder(below),
        isVisible: (link) => canAdminister(link, user, policy),
      });
      return {
        success: true as const,
        links: await Promise.all(page.links.map((link) => describe(request, link))),
        ...(page.cursor !== undefined && { cursor: page.cursor }),
      };
    },
  );

  app.get(
    '/-/links/:id',
    {
      config,
      schema: { tags, summary: 'Get a share link', params: LinkId, response: { 200: LinkResponse, ...failures } },
    },
    async (request, reply) => {
      const link = await findOwn(request, service, table);
      reply.header('cache-control', 'no-store');
      return { success: true as const, link: await describe(request, link) };
    },
  );

  app.delete(
    '/-/links/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Revoke a share link',
        description: 'Ends it at once. Responses in progress end within two seconds.',
        params: LinkId,
        response: { 200: Success, ...failures },
      },
    },
    async (request) => {
      const { id, path } = await findOwn(request, service, table);
      await table.revoke(id);
      recordChange(request, 'revoke link', { id, path });
      return { success: true as const, message: 'Link revoked successfully' };
    },
  );
}

/** Registers the routes that create and change links, with JSON bodies. */
export function changeLinkRoutes(app: App, service: Service, { table, items }: LinkService): void {
  const needsUser = service.access.authenticators !== undefined;
  const describe = descriptionsOf(service, items);

  app.post(
    '/-/links',
    {
      config,
      // The default validation error could contain the password.
      attachValidation: true,
      schema: {
        tags,
        summary: 'Create a share link',
        description:
          'Visitors with the URL can use the link without an account. It gives at most what its creator can do at that moment.',
        body: CreateLink,
        response: { 200: LinkCreated, ...failures },
      },
    },
    async (request, reply) => {
      requireValid(request);
      const access = accessOf(request);
      const path = parseItem(request.body.path);
      const permissions = parsePermissions(request.body.permissions ?? ['read'], path);
      await access.files.requireSharing(path, permissions, { action: 'create link', needsUser });
      const since = await table.follow();
      await requireExisting(request, path, permissions);
      const { expiresAt, ...rest } = await applyChange({ ...NO_SETTINGS, permissions }, request.body, path, () =>
        hashOf(request.body.password),
      );
      const requestedEnd = request.body.expiresAt === null ? null : expiresAt;
      const settings = { ...rest, expiresAt: endOf(request, requestedEnd) };
      const creator = createCreator(access.user, service.access.policy(), access.credential);
      const { link, token } = await table.create(path, settings, creator, {
        since,
        identity: await items.identify(path),
      });
      recordChange(request, 'create link', link);
      reply.header('cache-control', 'no-store');
      return {
        success: true as const,
        message: 'Link created successfully',
        link: await describe(request, link),
        token,
        url: linkUrl(rootOf(service, request), token),
      };
    },
  );

  app.patch(
    '/-/links/:id',
    {
      config,
      attachValidation: true,
      schema: {
        tags,
        summary: 'Change a share link',
        description: 'Changes the given fields. Null removes a value. A new password ends the sessions of visitors.',
        params: LinkId,
        body: ChangeLink,
        response: { 200: LinkResponse, ...failures },
      },
    },
    async (request, reply) => {
      requireValid(request);
      const link = await changeOwn(request, service, table);
      recordChange(request, 'change link', link);
      reply.header('cache-control', 'no-store');
      return { success: true as const, link: await describe(request, link) };
    },
  );
}

/** Returns a function that describes a link to the user of a request. Anonymous users don't learn who created it. */
function descriptionsOf({ access }: Pick<Service, 'access'>, items: LinkService['items']) {
  return async (request: FastifyRequest, link: Link) => {
    const { creator, ...description } = describeLink(await items.check(link), access.policy());
    const isShown = creator !== undefined && !accessOf(request).isAnonymous;
    return { ...description, ...(isShown && { creator }) };
  };
}

/** Returns the link of a request. Throws the same `not-found` for an unknown ID and for the link of another user. */
async function findOwn(
  request: FastifyRequest<{ Params: { id: string } }>,
  { access }: Pick<Service, 'access'>,
  table: LinkService['table'],
): Promise<Link> {
  const { id } = request.params;
  const link = await table.find(id);
  if (link && canAdminister(link, accessOf(request).user, access.policy())) return link;
  throw linkNotFound(id);
}

/**
 * Applies the change of a request to the settings that the link has at that moment, so that changes at the same time keep
 * each other's fields.
 */
async function changeOwn(
  request: FastifyRequest<{ Params: { id: string }; Body: ChangeLink }>,
  service: Pick<Service, 'access'>,
  table: LinkService['table'],
): Promise<Link> {
  const needsUser = service.access.authenticators !== undefined;
  let hashed: ReturnType<typeof hashOf> | undefined;
  const hash = () => (hashed ??= hashOf(request.body.password));
  for (let attempt = 0; attempt < MAX_CHANGE_ATTEMPTS; attempt++) {
    const present = await findOwn(request, service, table);
    const settings = await applyChange(present, request.body, present.path, hash);
    endOf(request, settings.expiresAt ?? null);
    const added = settings.permissions.filter((permission) => !present.permissions.includes(permission));
    await accessOf(request).files.requireSharing(present.path, added, { action: 'change link', needsUser });
    const link = await table.change(present, settings);
    if (link) return link;
  }
  throw new StoreError('overloaded', 'The link is changed by many other requests. Try again later.');
}

/** The default settings of a new link. */
const NO_SETTINGS: Omit<LinkSettings, 'permissions'> = {
  label: undefined,
  expiresAt: undefined,
  passwordHash: undefined,
  maxDownloads: undefined,
  maxUploads: undefined,
  maxUploadBytes: undefined,
  asksSender: false,
};

/**
 * Returns settings with those of a request. `hash` returns that of its password. Throws 400 for values that are not valid.
 */
async function applyChange(
  { permissions, label, expiresAt, passwordHash, maxDownloads, maxUploads, maxUploadBytes, asksSender }: LinkSettings,
  change: ChangeLink,
  path: FilePath | FolderPath,
  hash: () => ReturnType<typeof hashOf>,
): Promise<LinkSettings> {
  const newPermissions = change.permissions === undefined ? permissions : parsePermissions(change.permissions, path);
  requireUseful(change, newPermissions);
  const settings = {
    permissions: newPermissions,
    label: change.label === undefined ? label : parseLabel(change.label ?? undefined),
    expiresAt: parsed(change.expiresAt, expiresAt, parseExpiry),
    maxDownloads: parsed(change.maxDownloads, maxDownloads),
    maxUploads: parsed(change.maxUploads, maxUploads),
    maxUploadBytes: parsed(change.maxUploadBytes, maxUploadBytes),
    asksSender: (change.askSender ?? asksSender) && newPermissions.includes('write'),
  };
  // Last, because hashing is expensive.
  return { ...settings, passwordHash: parsed(await hash(), passwordHash) };
}

/** Throws 400 for a setting that has no effect with the permissions of the link. */
function requireUseful(change: ChangeLink, permissions: readonly LinkPermission[]): void {
  for (const [field, permission] of PERMISSION_OF_SETTING) {
    const value = change[field];
    if (value === undefined || value === null || value === false || permissions.includes(permission)) continue;
    throw new HttpError('invalid-parameter', `"${field}" has no effect without the permission "${permission}".`);
  }
}

/** Returns the value of a field: the present one if it is absent, and undefined if it is null. */
function parsed<Value>(value: Value | null | undefined, present: Value | undefined): Value | undefined;
function parsed<Value, Result>(
  value: Value | null | undefined,
  present: Result | undefined,
  parse: (value: Value) => Result,
): Result | undefined;
function parsed<Value, Result>(
  value: Value | null | undefined,
  present: Result | undefined,
  parse?: (value: Value) => Result,
): Value | Result | undefined {
  if (value === undefined) return present;
  if (value === null) return undefined;
  return parse ? parse(value) : value;
}

/** Returns the hash of a password. Null and undefined remain. Throws 400 for a password that is not valid. */
async function hashOf(password: string | null | undefined): Promise<string | null | undefined> {
  if (password === undefined || password === null) return password;
  if (isUsablePassword(password)) return hashPassword(password);
  const rule = `1 to ${MAX_PASSWORD_BYTES} bytes without control characters`;
  throw new HttpError('invalid-parameter', `The password must have ${rule}. Send null for no password.`);
}

/** Throws the validation error of a request, without the password. */
function requireValid({ validationError }: FastifyRequest): void {
  if (!validationError) return;
  const isPassword = validationError.validation?.some((mistake: { readonly instancePath: string }) =>
    mistake.instancePath.startsWith('/password'),
  );
  if (!isPassword) throw validationError;
  throw new HttpError('invalid-parameter', 'The field "password" of the body must be a string or null.');
}

/** Parses the path of an item to share: a folder ends with a `/`, and the root can be empty. */
function parseItem(path: string): FilePath | FolderPath {
  return path === '' || path.endsWith('/') ? parseFolder(path) : parseFile(path);
}

/**
 * Throws `not-found` if nothing of this kind has the path. A folder that the user can't read is not checked, because the
 * response would reveal it.
 */
async function requireExisting(
  request: FastifyRequest,
  path: FilePath | FolderPath,
  permissions: readonly LinkPermission[],
): Promise<void> {
  const { files } = accessOf(request);
  if (!isFolder(path)) await files.stat(path);
  else if (permissions.includes('read')) await files.list(path, { limit: 1 });
}

/** Returns the URL of the service as visitors see it, without a `/` at its end. */
function rootOf({ publicUrl, basePath }: Pick<Service, 'publicUrl' | 'basePath'>, request: FastifyRequest): string {
  return publicUrl?.replace(/(?<!\/)\/+$/, '') ?? `${request.protocol}://${request.host}${basePath}`;
}

/** Records a change of a link. */
function recordChange(request: FastifyRequest, action: string, { id, path }: Pick<Link, 'id' | 'path'>): void {
  accessOf(request).record({ event: 'change', action, path, link: id, outcome: 'done' });
}
