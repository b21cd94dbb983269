{{- define "turnlog.name" -}}
{{- if contains "turnlog" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-turnlog" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Whether several processes share a PostgreSQL: "true" or nothing. */}}
{{- define "turnlog.scaled" -}}
{{- if or .Values.database.url .Values.database.existingSecret -}}true{{- end -}}
{{- end -}}

{{- define "turnlog.selector" -}}
app.kubernetes.io/name: turnlog
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "turnlog.labels" -}}
{{ include "turnlog.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "turnlog.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- printf "%s%s%s" .Values.image.repository (hasPrefix "sha256:" $tag | ternary "@" ":") $tag -}}
{{- end -}}

{{- define "turnlog.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "turnlog.name" .) "default") -}}
{{- end -}}

{{- define "turnlog.claim" -}}
{{- .Values.persistence.existingClaim | default (printf "%s-data" (include "turnlog.name" .)) -}}
{{- end -}}

{{/* A setting as text. Helm reads numbers as floats: a million would be 1e+06. */}}
{{- define "turnlog.value" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* What the chart's Secret holds. */}}
{{- define "turnlog.secretData" -}}
{{- range $name, $value := .Values.secrets }}
{{ $name }}: {{ include "turnlog.value" $value | quote }}
{{- end }}
{{- with .Values.database.url }}
DATABASE_URL: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Settings of a container. Takes root, secret (the name of the chart's Secret) and component. */}}
{{- define "turnlog.environment" -}}
{{- $root := .root -}}
{{- $name := include "turnlog.name" $root -}}
env:
  - name: POD_IP
    valueFrom: {fieldRef: {fieldPath: status.podIP}}
  # Prometheus asks each pod by its address, other programs of the cluster by the name of the service
  - name: ALLOWED_HOSTS
    value: {{ printf "$(POD_IP) %s %s.%s %s.%s.svc %s" $name $name $root.Release.Namespace $name $root.Release.Namespace ($root.Values.settings.ALLOWED_HOSTS | default "") | trim | quote }}
  {{- with $root.Values.publicUrl }}
  - name: PUBLIC_URL
    value: {{ . | quote }}
  {{- end }}
  - name: DRAIN_SECONDS
    value: {{ $root.Values.drainSeconds | quote }}
  - name: STOP_DELAY_SECONDS
    value: {{ $root.Values.stopDelaySeconds | quote }}
  {{- if include "turnlog.scaled" $root }}
  - name: MIGRATE
    value: "false"
  {{- with $root.Values.database.existingSecret }}
  - name: DATABASE_URL
    valueFrom: {secretKeyRef: {name: {{ . | quote }}, key: {{ $root.Values.database.existingSecretKey | quote }}}}
  {{- end }}
  {{- end }}
  {{- if not (hasKey $root.Values.settings "DEMO") }}
  - name: DEMO
    value: "false"
  {{- end }}
  {{- range $setting, $value := omit $root.Values.settings "ALLOWED_HOSTS" }}
  - name: {{ $setting }}
    value: {{ include "turnlog.value" $value | quote }}
  {{- end }}
{{- if or $root.Values.existingSecret (include "turnlog.secretData" $root) }}
envFrom:
  {{- if include "turnlog.secretData" $root }}
  - secretRef: {name: {{ .secret | quote }}}
  {{- end }}
  {{- with $root.Values.existingSecret }}
  - secretRef: {name: {{ . | quote }}}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "turnlog.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
# The kubelet opens files to the group where it changes a volume's owner, and the server refuses a secret that others
# can read: it may do so at the first mount only, when the volume is empty.
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "turnlog.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* A Deployment. Takes root, component (single, web, run or ingest), command, replicas, resources and keeps (whether
it has the volume that lasts). */}}
{{- define "turnlog.deployment" -}}
{{- $root := .root -}}
{{- $name := include "turnlog.name" $root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}-{{ .component }}
  labels:
    {{- include "turnlog.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  replicas: {{ .replicas }}
  {{- if and .keeps (ne $root.Values.persistence.accessMode "ReadWriteMany") }}
  strategy: {type: Recreate}
  {{- else if eq .component "single" }}
  strategy: {type: Recreate}
  {{- else }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  {{- end }}
  selector:
    matchLabels:
      {{- include "turnlog.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  template:
    metadata:
      labels:
        {{- include "turnlog.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
      annotations:
        checksum/secret: {{ include "turnlog.secretData" $root | sha256sum }}
        {{- with $root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "turnlog.serviceAccount" $root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{ toYaml . | nindent 8 }}
      {{- end }}
      securityContext: {{ include "turnlog.podSecurity" $root | nindent 8 }}
      terminationGracePeriodSeconds: {{ add $root.Values.stopDelaySeconds $root.Values.drainSeconds 20 }}
      containers:
        - name: turnlog
          image: {{ include "turnlog.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: {{ toJson .command }}
          {{- include "turnlog.environment" (dict "root" $root "secret" $name) | nindent 10 }}
          ports:
            - {name: http, containerPort: 8321}
          # Probes come by the pod's address, which may be of either kind: localhost is always served
          startupProbe:
            httpGet: &healthz {path: /healthz, port: http, httpHeaders: [{name: Host, value: localhost}]}
            periodSeconds: 3
            timeoutSeconds: 3
            failureThreshold: 200   # a start that changes large tables takes minutes
          livenessProbe:
            httpGet: *healthz
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http, httpHeaders: [{name: Host, value: localhost}]}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          resources: {{ toYaml .resources | nindent 12 }}
          securityContext: {{ include "turnlog.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: tmp, mountPath: /tmp}
      volumes:
        - name: data
          {{- if .keeps }}
          persistentVolumeClaim: {claimName: {{ include "turnlog.claim" $root | quote }}}
          {{- else }}
          emptyDir: {}
          {{- end }}
        - name: tmp
          emptyDir: {}
      {{- with $root.Values.nodeSelector }}
      nodeSelector: {{ toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.tolerations }}
      tolerations: {{ toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.affinity }}
      affinity: {{ toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
