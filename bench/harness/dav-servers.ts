import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServedFolder, Server } from './servers.ts';
import { holdall, nginxConfiguration, rclone } from './servers.ts';

/** The URL of WebDAV of Holdall. */
export function holdallDav(entryFile: string): Server {
  return { ...holdall(entryFile), filePath: (file) => `/-/dav/${file}` };
}

/** `rclone serve webdav`. */
export const rcloneDav: Server = rclone('webdav');

/** mod_dav and mod_dav_fs with the modules and the process model of Debian's Apache. */
export const apacheDav: Server = {
  name: 'apache',
  program: 'apache2',
  readyPath: '/4KiB.bin',
  filePath: (file) => `/${file}`,
  command: async (site, port) => {
    const configuration = join(site.scratch, 'apache.conf');
    await writeFile(configuration, apacheConfiguration(site, port));
    // The database of locks belongs to the user of the child processes.
    await mkdir(join(site.scratch, 'locks'), { mode: 0o777 });
    return {
      file: 'sh',
      args: ['-c', 'chmod 777 "$0/locks"; exec apache2 -f "$1" -D FOREGROUND', site.scratch, configuration],
    };
  },
};

/** ngx_http_dav_module, which has PUT, DELETE, MKCOL, COPY and MOVE. */
export const nginxDav: Server = {
  name: 'nginx',
  program: 'nginx',
  readyPath: '/4KiB.bin',
  filePath: (file) => `/${file}`,
  command: async (site, port) => {
    const configuration = join(site.scratch, 'nginx.conf');
    const dav = 'dav_methods PUT DELETE MKCOL COPY MOVE; client_max_body_size 0;';
    await writeFile(configuration, nginxConfiguration(site, port, dav));
    return { file: 'nginx', args: ['-e', 'stderr', '-p', site.scratch, '-c', configuration] };
  },
};

/** The arguments of chattr that make ext4 flush each change in a folder before the system call ends. */
export const SYNCHRONOUS = ['+S', '+D'] as const;

/** nginx whose folder of temporary files is synchronous. It receives files there, and then renames them. */
export const nginxSynchronous: Server = {
  ...nginxDav,
  command: async (site, port) => {
    const { args } = await nginxDav.command(site, port);
    const script = `mkdir "$0/client_body" && chattr ${SYNCHRONOUS.join(' ')} "$0/client_body" && exec nginx "$@"`;
    return { file: 'sh', args: ['-c', script, site.scratch, ...args] };
  },
};

/**
 * Keep-alive connections are not closed after 100 requests, the default, because no other server does that. Each process has
 * more threads than wrk has connections, and none is ended for being idle: Apache otherwise closes connections, which count as
 * failed requests.
 */
function apacheConfiguration({ root, scratch }: ServedFolder, port: number): string {
  const modules = ['mpm_event', 'authz_core', 'mime', 'dav', 'dav_fs'];
  return `
ServerRoot ${scratch}
ServerName localhost
PidFile ${scratch}/apache.pid
DefaultRuntimeDir ${scratch}
ErrorLog ${scratch}/error.log
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
TypesConfig /etc/mime.types
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
Listen 127.0.0.1:${port}
MaxKeepAliveRequests 0
KeepAliveTimeout 60
ThreadsPerChild 64
MaxRequestWorkers 256
StartServers 2
MinSpareThreads 64
MaxSpareThreads 256
LimitRequestBody 0
DocumentRoot ${root}
DavLockDB ${scratch}/locks/lock
<Directory ${root}>
  Require all granted
  Dav On
</Directory>
`;
}
